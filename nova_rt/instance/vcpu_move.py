# SPDX-License-Identifier: Apache-2.0
"""Which servers may have a vCPU moved to another pCPU of their host, and what they hold.

The instance is the journal: both sides are saved with it before anything changes, and
it is locked by its task state. From then until one save ends the move, it holds the
pCPUs of both sides. What was interrupted is undone when the tracker
looks next, as it does when the compute service starts.
"""

from __future__ import annotations

from nova import objects
from nova.compute import task_states
from nova.compute import vm_states

from nova_rt import errors
from nova_rt import ledger
from nova_rt.instance import holdings
from nova_rt.instance import in_place

_STATES = (vm_states.ACTIVE, vm_states.STOPPED)
# Nova neither sets it for a server that was not resized, nor forgets it when it starts.
LOCKED = task_states.RESIZE_FINISH
_UNDER_WAY = (holdings.OLD + holdings.PCPUS, holdings.NEW + holdings.PCPUS,
              holdings.IN_PLACE, holdings.HINT_DUE)


class UnmovableError(errors.NovaRTError):
    """A vCPU cannot be moved; the message is a clause that says why."""


def movable(instance: objects.Instance) -> bool:
    """Return whether a server may have a vCPU moved now."""
    return (instance.vm_state in _STATES and instance.task_state is None
            and holdings.holding_of(instance) is not None
            and not any(name in instance.system_metadata for name in _UNDER_WAY))


def after(instance: objects.Instance, source: int, target: int) -> ledger.Holding:
    """Return what a server is to hold after the move.

    :param source: the pCPU that one of its vCPUs has
    :param target: the pCPU that this vCPU is to have
    :raises UnmovableError: if it cannot be moved, or not so
    """
    holding = holdings.holding_of(instance)
    if holding is None or not movable(instance):
        raise UnmovableError(
            'only a server that is active or stopped, holds a reservation, and has no other '
            'operation under way can be moved')
    if source not in holding.pcpus:
        raise UnmovableError(f'it has no vCPU on pCPU {source}')
    if target in holding.pcpus:
        raise UnmovableError(f'it has a vCPU on pCPU {target} already')
    return holding.moved(source, target)


def begin(instance: objects.Instance, new: ledger.Holding) -> None:
    """Record the move, and save it and the lock.

    :raises UnexpectedTaskStateError: if something else is under way by now
    """
    holding = holdings.holding_of(instance)
    holdings.set_pcpus(instance, holding.pcpus if holding else None, holdings.OLD)
    holdings.set_pcpus(instance, new.pcpus, holdings.NEW)
    instance.system_metadata[holdings.IN_PLACE] = in_place.MOVE
    instance.task_state = LOCKED
    instance.save(expected_task_state=[None])


def end(instance: objects.Instance, holding: ledger.Holding) -> None:
    """Record that a server holds one side only, and save it.

    If it cannot be saved, the instance says what it said before.

    :raises UnexpectedTaskStateError: if something else is under way, as it is where
        somebody deletes the server meanwhile
    """
    metadata, task_state = dict(instance.system_metadata), instance.task_state
    holdings.set_pcpus(instance, holding.pcpus)
    holdings.end_move(instance)
    instance.task_state = None
    try:
        # None as well: an operator may have reset the state meanwhile.
        instance.save(expected_task_state=[LOCKED, None])
    except Exception:
        instance.system_metadata, instance.task_state = metadata, task_state
        raise
