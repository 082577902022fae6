# SPDX-License-Identifier: Apache-2.0
"""What a flavor's extra specs are together, for whatever lets people write them."""

from __future__ import annotations

from collections.abc import Mapping

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation
from nova_rt import shares


def check(extra_specs: Mapping[str, object], vcpus: int) -> reservation.Reservation | None:
    """Refuse extra specs that are wrong, alone or together.

    :param extra_specs: all of a flavor
    :param vcpus: of the flavor
    :returns: the reservation that the flavor describes by itself, None if it has none, or a
        runtime or a period only, to which hints may add the other
    :raises nova_rt.reservation.InvalidReservationError: with a sentence that says what is wrong
    """
    described = reservation.described(extra_specs, vcpus)
    shares.check_extra_spec(extra_specs, vcpus)
    criticality.in_extra_specs(extra_specs)
    least_us = elastic.in_extra_specs(extra_specs)
    if described and least_us is not None:
        elastic.check(elastic.EXTRA_SPEC, least_us, described)
    return described
