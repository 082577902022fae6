# SPDX-License-Identifier: Apache-2.0
"""The fields of the form for a flavor's reservation: pure, so that no Django is needed."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import json

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import flavor_specs
from nova_rt import reservation
from nova_rt import shares

RUNTIME, PERIOD = 'runtime_us', 'period_us'
LEAST, CRITICALITY = 'min_runtime_us', 'criticality'
POLICY, PRIORITY = 'policy', 'priority'

SPECS = {
    RUNTIME: reservation.EXTRA_SPEC_PREFIX + reservation.RUNTIME,
    PERIOD: reservation.EXTRA_SPEC_PREFIX + reservation.PERIOD,
    LEAST: elastic.EXTRA_SPEC,
    CRITICALITY: criticality.EXTRA_SPEC,
    POLICY: reservation.EXTRA_SPEC_PREFIX + reservation.POLICY,
    PRIORITY: reservation.EXTRA_SPEC_PREFIX + reservation.PRIORITY,
}
"""The extra spec of each field."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """What makes a flavor as the form has it.

    :ivar added: extra specs to set
    :ivar removed: names of extra specs to remove
    """

    added: Mapping[str, str]
    removed: tuple[str, ...]


def given(extra_specs: Mapping[str, str]) -> dict[str, str]:
    """Return what the form shows of a flavor, by field."""
    return {field: extra_specs.get(spec, '') for field, spec in SPECS.items()}


def fingerprint(extra_specs: Mapping[str, str]) -> str:
    """Return what the form shows of a flavor as one text, to see whether it still does."""
    return json.dumps(given(extra_specs), sort_keys=True)


def change(before: Mapping[str, str], entered: Mapping[str, str], vcpus: int) -> Change:
    """Return what a form changes; an empty field removes its extra spec.

    A share that the flavor tells to others is kept true.

    :param before: the flavor's extra specs
    :param entered: by field
    """
    wanted = {SPECS[field]: text for field, text in entered.items() if text}
    if shares.EXTRA_SPEC in before:
        described = reservation.described(wanted, vcpus)
        if described:
            wanted[shares.EXTRA_SPEC] = str(described.share)
    ours = {*SPECS.values(), shares.EXTRA_SPEC}
    return Change(
        {name: text for name, text in wanted.items() if before.get(name) != text},
        tuple(name for name in before if name in ours and name not in wanted))


def trouble(entered: Mapping[str, str], vcpus: int) -> tuple[str, str] | None:
    """Return the first field that is wrong, and a sentence; None if all are right.

    nova-api checks by the same functions, and knows besides the cap and the flavor's other
    extra specs. It takes extra specs one by one, so a priority may come before its policy
    there; the form has all at once.

    :param entered: by field
    """
    specs = {SPECS[field]: text for field, text in entered.items() if text}
    # In this order, the first to be refused is the one that is wrong: alone, then with those
    # before it.
    read: dict[str, str] = {}
    for field in (POLICY, PRIORITY, PERIOD, RUNTIME, CRITICALITY, LEAST):
        if SPECS[field] not in specs:
            continue
        read[SPECS[field]] = specs[SPECS[field]]
        try:
            reservation.init_policy(read)
            flavor_specs.check(read, vcpus)
        except reservation.InvalidReservationError as exc:
            return field, str(exc)
    return None
