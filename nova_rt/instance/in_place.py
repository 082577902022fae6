# SPDX-License-Identifier: Apache-2.0
"""Which changes of a reservation need no restart, and what they hold.

A server that is changed in place keeps its pCPUs. Until it is certain which of
the two it will have, it holds the larger of the old and the new reservation
there, and never both: its container has only ever one of them.
"""

from __future__ import annotations

from nova import objects
from nova.compute import vm_states

from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.instance import flavors
from nova_rt.instance import holdings

# What began a change.
RESIZE = 'resize'
HINT = 'hint'

_TIMES = {reservation.EXTRA_SPEC_PREFIX + name
          for name in (reservation.RUNTIME, reservation.PERIOD)}
_NOT_COMPARED = _TIMES | {shares.EXTRA_SPEC}
_SIZES = ('vcpus', 'memory_mb', 'root_gb', 'ephemeral_gb', 'swap',
          'rxtx_factor', 'vcpu_weight')


def possible(instance: objects.Instance, flavor: objects.Flavor) -> bool:
    """Return whether a server can be given a flavor while it runs.

    The flavors differ in nothing but runtime and period, and Nova claims
    nothing for the server that it would have to plug in or pin anew.

    :param flavor: with hints merged in
    :raises InvalidReservationError: if the flavor asks for one that cannot be
    """
    return (instance.vm_state in (vm_states.ACTIVE, vm_states.STOPPED)
            and holdings.holding_of(instance) is not None
            and flavors.reservation_of(flavor) is not None
            and _only_times_differ(instance.flavor, flavor)
            and not (instance.pci_requests and instance.pci_requests.requests)
            and instance.numa_topology is None
            and not instance.resources)


def begun(instance: objects.Instance) -> bool:
    """Return whether the server is being changed in place."""
    return holdings.IN_PLACE in instance.system_metadata


def by_hint(instance: objects.Instance) -> bool:
    """Return whether that is done without a resize."""
    return instance.system_metadata.get(holdings.IN_PLACE) == HINT


def note(instance: objects.Instance, kind: str) -> None:
    """Note, to be saved with the instance, that it is changed in place.

    :param kind: what began it
    """
    holding = holdings.holding_of(instance)
    pcpus = holding and holding.pcpus
    holdings.set_pcpus(instance, pcpus, holdings.OLD)
    holdings.set_pcpus(instance, pcpus, holdings.NEW)
    instance.system_metadata[holdings.IN_PLACE] = kind


def side(instance: objects.Instance, prefix: str) -> ledger.Holding | None:
    """Return what the server held before the change, or holds after it."""
    return holdings.holding_of(
        instance, getattr(instance, f'{prefix}flavor'), prefix)


def occupied_by(instance: objects.Instance) -> ledger.Holding | None:
    """Return what a server that is not moved occupies on its host."""
    own = holdings.holding_of(instance)
    if own is None or not begun(instance):
        return own
    sides = (own, side(instance, holdings.OLD), side(instance, holdings.NEW))
    return max((each for each in sides if each is not None),
               key=lambda holding: holding.reservation.bandwidth)


def _only_times_differ(one: objects.Flavor, other: objects.Flavor) -> bool:
    return _beside_times(one) == _beside_times(other) and all(
        getattr(one, size) == getattr(other, size) for size in _SIZES)


def _beside_times(flavor: objects.Flavor) -> dict[str, str]:
    return {name: value for name, value in flavor.extra_specs.items()
            if name not in _NOT_COMPARED}
