# SPDX-License-Identifier: Apache-2.0
"""Changes a server's hint, and with it its reservation: the operator's side.

The server's compute node changes the reservation, all or nothing, and leaves
the server locked; then the hint is stored and the server unlocked. What was
interrupted between is finished the next time: the server says what its hint
has to be.
"""

from __future__ import annotations

from nova import context as nova_context
from nova import exception
from nova import objects

from nova_rt import elastic
from nova_rt import reservation
from nova_rt.instance import compute_call
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place

_PREFIX = reservation.EXTRA_SPEC_PREFIX


def change(context: nova_context.RequestContext, server: str,
           times: reservation.Times, cap: int, locked: bool = True) -> reservation.Reservation:
    """Give a server another runtime or period, or both, by its hint.

    :param server: its uuid
    :param times: those to change; none to finish what was interrupted
    :param cap: largest bandwidth admitted per pCPU, in fixed point
    :param locked: whether a server that its users have locked is changed, too
    :returns: what it has now
    :raises UnansweredError: if its host did not answer, or failed at it
    :raises RefusedError: if it stays as it was
    :raises InvalidReservationError: if the new reservation would be invalid
    :raises InstanceMappingNotFound, RequestSpecNotFound, InstanceNotFound: if
        Nova does not know it
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    spec = objects.RequestSpec.get_by_instance_uuid(context, server)
    if mapping.cell_mapping is None:
        raise compute_call.RefusedError('The server is on no host yet.')
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        instance = holdings.fetch(cell, server)
        if instance.locked and not locked:
            raise compute_call.RefusedError('The server is locked: unlock it first.')
        _finish(spec, instance)
        before = _reservation_of(instance)
        wanted = before.with_times(times)
        if wanted != before:
            reservation.check_cap(wanted, cap)
            elastic.requested(instance.flavor.extra_specs, {}, wanted)
            compute_call.call(
                cell, instance, 'change_reservation',
                'run this again when it does, which finishes or repeats the change',
                'when it starts',
                runtime_us=wanted.runtime_us, period_us=wanted.period_us)
            _finish(spec, holdings.fetch(cell, server))
        elif times != reservation.Times():
            _store(spec, wanted)
        return wanted


def _finish(spec: objects.RequestSpec, instance: objects.Instance) -> None:
    """Store the hint of a server that was changed, and unlock it.

    :raises RefusedError: if another operation has begun
    """
    if holdings.HINT_DUE not in instance.system_metadata:
        return
    _store(spec, _reservation_of(instance))
    del instance.system_metadata[holdings.HINT_DUE]
    instance.task_state = None
    try:
        # None as well: somebody may have reset the state meanwhile.
        instance.save(expected_task_state=[in_place.CHANGED, None])
    except exception.UnexpectedTaskStateError:
        raise compute_call.RefusedError(
            'Another operation on the server is under way: run this again when it has '
            'ended.') from None


def _reservation_of(instance: objects.Instance) -> reservation.Reservation:
    has = flavors.reservation_of(instance.flavor)
    if has is None:
        raise compute_call.RefusedError(
            'The server has no reservation: resize it to a flavor that has one.')
    return has


def _store(spec: objects.RequestSpec, has: reservation.Reservation) -> None:
    hints = _hints(spec, has)
    if hints != (spec.scheduler_hints or {}):
        spec.scheduler_hints = hints
        spec.save()


def _hints(spec: objects.RequestSpec,
           has: reservation.Reservation) -> dict[str, list[str]]:
    """Return the hints by which the request asks for what a server has."""
    hints = dict(spec.scheduler_hints or {})
    requested = reservation.times_from_hints(hints).over(
        reservation.times_from_extra_specs(spec.flavor.extra_specs))
    for name, new, old in (
            (reservation.RUNTIME, has.runtime_us, requested.runtime_us),
            (reservation.PERIOD, has.period_us, requested.period_us)):
        if new != old:
            hints.pop(_PREFIX + name, None)
            hints[name] = [str(new)]
    return hints
