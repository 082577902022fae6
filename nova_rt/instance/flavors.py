# SPDX-License-Identifier: Apache-2.0
"""The reservation in a flavor, where hints are merged into it.

Everything that follows a request's entry into the compute node reads the
instance's own flavor only.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib

from nova import objects

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation
from nova_rt import shares


def reservation_of(flavor: objects.Flavor) -> reservation.Reservation | None:
    """Return the reservation that a server of this flavor has.

    :raises InvalidReservationError: if the flavor asks for an invalid one
    """
    return reservation.requested(flavor.extra_specs, {}, flavor.vcpus)


def criticality_of(flavor: objects.Flavor) -> criticality.Criticality | None:
    """Return the criticality that a server of this flavor has, None if it says none.

    :raises InvalidReservationError: if it is none of ours
    """
    return criticality.in_extra_specs(flavor.extra_specs)


def own_bandwidth(flavor: objects.Flavor) -> int:
    """Return the bandwidth that a flavor gives each vCPU without a hint; 0 for none."""
    with contextlib.suppress(reservation.InvalidReservationError):
        described = reservation.described(flavor.extra_specs, flavor.vcpus)
        return described.bandwidth if described else 0
    return 0


def with_reservation(flavor: objects.Flavor,
                     wanted: reservation.Reservation) -> objects.Flavor:
    """Return the flavor with another reservation, and its share, in it.

    :raises InvalidReservationError: if the flavor's least runtime is longer
    """
    elastic.requested(flavor.extra_specs, {}, wanted)
    changed = flavor.obj_clone()
    changed.extra_specs = {**flavor.extra_specs, **_extra_specs(wanted)}
    return changed


def merged(flavor: objects.Flavor,
           request_spec: objects.RequestSpec | None) -> objects.Flavor:
    """Return the flavor with the request's hints written over it.

    This is done once, where a request enters the compute node. The share goes
    into the flavor as well: ``nova-manage placement heal_allocations`` reads
    it there.

    :raises InvalidReservationError: if the result is invalid
    """
    return with_hints(flavor, getattr(request_spec, 'scheduler_hints', None) or {})


def with_hints(flavor: objects.Flavor, hints: Mapping[str, object]) -> objects.Flavor:
    """Return the flavor with hints written over it.

    :raises InvalidReservationError: if the result is invalid
    """
    wanted = reservation.requested(flavor.extra_specs, hints, flavor.vcpus)
    # A share that was set by hand is dropped: nobody computed it.
    extra_specs = {name: value for name, value in flavor.extra_specs.items()
                   if name != shares.EXTRA_SPEC}
    if wanted is not None:
        extra_specs |= _extra_specs(wanted)
    asked = criticality.requested(flavor.extra_specs, hints, wanted)
    if asked is not None:
        extra_specs[criticality.EXTRA_SPEC] = asked.name
    least_us = elastic.requested(flavor.extra_specs, hints, wanted)
    if least_us is not None:
        extra_specs[elastic.EXTRA_SPEC] = str(least_us)
    if extra_specs == flavor.extra_specs:
        return flavor
    flavor = flavor.obj_clone()
    flavor.extra_specs = extra_specs
    return flavor


def _extra_specs(wanted: reservation.Reservation) -> dict[str, str]:
    prefix = reservation.EXTRA_SPEC_PREFIX
    return {prefix + reservation.RUNTIME: str(wanted.runtime_us),
            prefix + reservation.PERIOD: str(wanted.period_us),
            shares.EXTRA_SPEC: str(wanted.share)}
