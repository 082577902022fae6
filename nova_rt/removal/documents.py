# SPDX-License-Identifier: Apache-2.0
"""What is ours in the JSON that Nova stores, and the same without it.

Nova writes its documents by ``json.dumps`` with no options, so what is not ours comes
back byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import json
from typing import TypedDict

from nova_rt import reservation
from nova_rt import shares

# By flavorid, the extra specs that a flavor has now; none for one that is gone.
ExtraSpecs = Callable[[str], Mapping[str, str]]


class _Flavor(TypedDict):
    """What is read of a flavor."""

    flavorid: str
    extra_specs: dict[str, str] | None


_DATA = 'nova_object.data'
_STATS = 'rt_'


def hinted(spec: str) -> frozenset[str]:
    """Return the extra specs that a request's hints have overridden.

    :param spec: Nova's ``request_specs.spec``
    """
    hints = json.loads(spec)[_DATA].get('scheduler_hints') or {}
    prefix = reservation.EXTRA_SPEC_PREFIX
    return frozenset(
        prefix + name for name in (reservation.RUNTIME, reservation.PERIOD)
        if name in hints or prefix + name in hints)


def instance_flavor(document: str, overridden: frozenset[str], extra_specs: ExtraSpecs) -> str:
    """Return Nova's ``instance_extra.flavor`` as it is without nova-rt.

    What a hint has overridden is what the flavor has, as nobody else recorded it.

    :param overridden: the extra specs that the server's hints have overridden
    """
    flavors = json.loads(document)
    for side in ('cur', 'old', 'new'):
        if flavors.get(side):
            _restore(flavors[side][_DATA], overridden, extra_specs)
    return json.dumps(flavors)


def request_spec(document: str, extra_specs: ExtraSpecs) -> str:
    """Return Nova's ``request_specs.spec`` as it is without nova-rt.

    A migration stores the server's own flavor there. The hints are the user's.
    """
    spec = json.loads(document)
    flavor = spec[_DATA].get('flavor')
    if flavor:
        _restore(flavor[_DATA], hinted(document), extra_specs)
    return json.dumps(spec)


def reserves(flavor: str) -> bool:
    """Return whether a server has a reservation, or had one before a move that is not over.

    :param flavor: Nova's ``instance_extra.flavor``
    """
    return any(f'"{name}"' in flavor for name in (
        shares.EXTRA_SPEC, reservation.EXTRA_SPEC_PREFIX + reservation.RUNTIME))


def stats(document: str) -> str:
    """Return Nova's ``compute_nodes.stats`` as they are without nova-rt."""
    return json.dumps({name: value for name, value in json.loads(document).items()
                       if not name.startswith(_STATS)})


def _restore(flavor: _Flavor, overridden: frozenset[str],
             extra_specs: ExtraSpecs) -> None:
    has = flavor.get('extra_specs') or {}
    if has.pop(shares.EXTRA_SPEC, None) is None:
        # Not merged: what it has of ours is the flavor's own.
        return
    original = extra_specs(flavor['flavorid'])
    for name in overridden:
        if name in original:
            has[name] = original[name]
        else:
            has.pop(name, None)
