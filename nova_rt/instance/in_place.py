# SPDX-License-Identifier: Apache-2.0
"""Which changes of a reservation need no restart, and what they hold.

A server that is changed in place keeps its pCPUs. Until it is certain which of
the two it will have, it holds the larger of the old and the new reservation
there, never both: its container only ever has one of them. One that keeps its
reservation and has a vCPU moved to another pCPU (:mod:`nova_rt.instance.vcpu_move`)
holds it on the pCPUs of both sides.
"""

from __future__ import annotations

import dataclasses

from nova import objects
from nova.compute import task_states
from nova.compute import vm_states

from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import preempted

# What began a change.
RESIZE = 'resize'
HINT = 'hint'
MOVE = 'move'

# The task states that lock a server: while it is changed, and until its hint is.
CHANGING = task_states.RESIZE_PREP
CHANGED = task_states.RESIZE_FINISH

_TIMES = {reservation.EXTRA_SPEC_PREFIX + name
          for name in (reservation.RUNTIME, reservation.PERIOD)}
_MAY_DIFFER = _TIMES | {shares.EXTRA_SPEC}
_SIZES = ('vcpus', 'memory_mb', 'root_gb', 'ephemeral_gb', 'swap',
          'rxtx_factor', 'vcpu_weight')


def possible(instance: objects.Instance, flavor: objects.Flavor) -> bool:
    """Return whether a server can be given a flavor while it runs.

    The flavors differ in nothing but runtime and period, and Nova claims
    nothing for the server that it would have to plug in or pin anew.

    :param flavor: with hints merged in
    :raises InvalidReservationError: if the flavor asks for an invalid one
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
    """Return whether it is being changed in place without a resize."""
    return instance.system_metadata.get(holdings.IN_PLACE) == HINT


def by_move(instance: objects.Instance) -> bool:
    """Return whether a vCPU of it is being moved to another pCPU."""
    return instance.system_metadata.get(holdings.IN_PLACE) == MOVE


def begin(instance: objects.Instance, kind: str) -> None:
    """Record that a server is changed in place, to be saved with it.

    :param kind: what began the change
    """
    holding = holdings.holding_of(instance)
    pcpus = holding.pcpus if holding else None
    holdings.set_pcpus(instance, pcpus, holdings.OLD)
    holdings.set_pcpus(instance, pcpus, holdings.NEW)
    instance.system_metadata[holdings.IN_PLACE] = kind


def end_interrupted(instance: objects.Instance) -> None:
    """Record how a change by hint ended whose host died, to be saved with what follows.

    Nova saves the flavor before the rest: where it is new, the change is done.
    """
    if instance.new_flavor is None:
        record_done(instance)
    else:
        record_undone(instance)


def record_done(instance: objects.Instance) -> None:
    """Record that a change by hint is done, and that the hint is still to follow."""
    instance.system_metadata[holdings.HINT_DUE] = 'yes'
    preempted.apply_next(instance)


def record_undone(instance: objects.Instance) -> None:
    """Forget what a change by hint was to lead to."""
    instance.new_flavor = None
    preempted.set_next(instance, None)


def side(instance: objects.Instance, prefix: str) -> ledger.Holding | None:
    """Return what a server held before the change, or holds after it.

    :param prefix: ``old_`` or ``new_``
    """
    if by_move(instance):
        # A resize that was refused may have left another flavor.
        return holdings.holding_of(instance, prefix=prefix)
    flavor = (instance.old_flavor if prefix == holdings.OLD
              else instance.new_flavor)
    return holdings.holding_of(instance, flavor, prefix)


def before(instance: objects.Instance) -> ledger.Holding:
    """Return what a server that is being changed held before.

    :raises LookupError: if it is not being changed
    """
    return _existing(instance, holdings.OLD)


def after(instance: objects.Instance) -> ledger.Holding:
    """Return what a server that is being changed holds afterwards.

    :raises LookupError: if it is not being changed
    """
    return _existing(instance, holdings.NEW)


def _existing(instance: objects.Instance, prefix: str) -> ledger.Holding:
    holding = side(instance, prefix)
    if holding is None:
        raise LookupError(f'Server {instance.uuid} is not changed in place: '
                          f'it has no {prefix}{holdings.PCPUS}.')
    return holding


def occupied_by(instance: objects.Instance) -> ledger.Holding | None:
    """Return what a server that is not moved occupies on its host."""
    own = holdings.holding_of(instance)
    if own is None or not begun(instance):
        return own
    if by_move(instance):
        old, new = before(instance), after(instance)
        return dataclasses.replace(old, pcpus=tuple(dict.fromkeys(old.pcpus + new.pcpus)))
    sides = (own, side(instance, holdings.OLD), side(instance, holdings.NEW))
    return max((holding for holding in sides if holding is not None),
               key=lambda holding: holding.reservation.bandwidth)


def _only_times_differ(old: objects.Flavor, new: objects.Flavor) -> bool:
    return _beside_times(old) == _beside_times(new) and all(
        getattr(old, size) == getattr(new, size) for size in _SIZES)


def _beside_times(flavor: objects.Flavor) -> dict[str, str]:
    return {name: value for name, value in flavor.extra_specs.items()
            if name not in _MAY_DIFFER}
