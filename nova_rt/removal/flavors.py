# SPDX-License-Identifier: Apache-2.0
"""The flavors that ask for a reservation or its hosts: the operator's own."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator

from nova import objects

from nova_rt import kinds
from nova_rt import spelling
from nova_rt.removal import placement
from nova_rt.removal import remnants

EXTRA_SPECS = frozenset({
    *spelling.EXTRA_SPECS,
    *(kinds.TRAIT_PREFIX + trait for trait in placement.TRAITS)})


def left(flavors: Iterable[objects.Flavor]) -> Iterator[remnants.Remnant]:
    """Yield each of these flavors that has an extra spec of nova-rt's."""
    for flavor in flavors:
        names = sorted(EXTRA_SPECS & flavor.extra_specs.keys())
        if names:
            properties = ''.join(f' --property {name}' for name in names)
            yield remnants.Remnant(
                f'flavor {flavor.name}', f'it has {", ".join(names)}',
                f'openstack flavor unset {flavor.flavorid}{properties}', ours=False)
