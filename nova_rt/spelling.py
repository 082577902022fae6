# SPDX-License-Identifier: Apache-2.0
"""The names of nova-rt's extra specs and hints, and what misspelt ones mean.

Nova ignores a scheduler hint that nobody reads, and before microversion 2.86
any extra spec: a mistyped name would silently give a server no reservation.
"""

from collections.abc import Iterable
import difflib
import re

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation
from nova_rt import shares
from nova_rt import wording

HINTS = (*reservation.HINTS, criticality.NAME, elastic.NAME)
EXTRA_SPECS = (*reservation.EXTRA_SPECS, criticality.EXTRA_SPEC, elastic.EXTRA_SPEC)
_NAMES = (*HINTS, reservation.POLICY, reservation.PRIORITY)
_PREFIX = re.compile(r'hw[:._ -]')
_OURS = re.compile(r'cpu[:._ -]?rt([:._ -]|$)|rt[:._ -]?(min[:._ -]?)?(runtime|period)'
                   r'|(runtime|period)_us$|(rt[:._ -]?)?criticality$')
_SHARE = re.compile(f'resources[A-Za-z0-9_-]*:{shares.RESOURCE_CLASS}')
# How alike two names must be: 'cpu.runtime_us' is, 'cpu_realtime' is not.
_ALIKE = 0.8
_LONGEST = 64


def check_hint_names(names: Iterable[str]) -> None:
    """Refuse scheduler hints that look like ours but are not.

    :raises reservation.InvalidReservationError: at the first such name
    """
    for name in names:
        if name.removeprefix(reservation.EXTRA_SPEC_PREFIX) in HINTS:
            continue
        suggestion = meant(name)
        if suggestion in HINTS:
            raise reservation.InvalidReservationError(
                f'There is no scheduler hint {wording.shown(name)}: did '
                f'you mean {suggestion}?')
        if suggestion:
            raise reservation.InvalidReservationError(
                f'{wording.shown(name)} cannot be a scheduler hint: set '
                f'it in the flavor, as {reservation.EXTRA_SPEC_PREFIX}'
                f'{suggestion}.')


def check_extra_spec_names(names: Iterable[str]) -> None:
    """Refuse extra specs that look like ours but are not, or stand in a group.

    :raises reservation.InvalidReservationError: at the first such name
    """
    for name in names:
        if name in EXTRA_SPECS or name == shares.EXTRA_SPEC:
            continue
        if _SHARE.fullmatch(name):
            raise reservation.InvalidReservationError(
                f'{name} puts the share into a group of its own: it is asked for with the '
                f'vCPUs, as {shares.EXTRA_SPEC}, and without it just as well.')
        suggestion = meant(name)
        if suggestion:
            raise reservation.InvalidReservationError(
                f'There is no extra spec {wording.shown(name)}: did you '
                f'mean {reservation.EXTRA_SPEC_PREFIX}{suggestion}?')


def meant(name: str) -> str | None:
    """Return the name of nova-rt's that this one resembles, without ``hw:``."""
    plain = _PREFIX.sub('', name[:_LONGEST].lower(), count=1)
    if _OURS.match(plain):
        return difflib.get_close_matches(plain, _NAMES, n=1, cutoff=0)[0]
    # Not policy and priority: Nova's own hw:cpu_policy is as near to them.
    alike = difflib.get_close_matches(
        plain, HINTS, n=1, cutoff=_ALIKE)
    return alike[0] if alike else None
