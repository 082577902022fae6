# SPDX-License-Identifier: Apache-2.0
"""Changes a server's hint, and with it its reservation: the operator's side.

The server's compute node changes the reservation, all or nothing, and leaves
the server locked; then the hint is stored and the server unlocked. What was
interrupted between is finished the next time: the server says what its hint
has to be.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses

from nova import context as nova_context
from nova import exception
from nova import objects

from nova_rt import elastic
from nova_rt import reservation
from nova_rt.instance import compute_call
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import preempted

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
    with _server(context, server) as (cell, spec, instance):
        if instance.locked and not locked:
            raise compute_call.RefusedError('The server is locked: unlock it first.')
        _finish(spec, instance)
        before = _reservation_of(instance)
        wanted = before.with_times(times)
        # Whoever wants what a shrunk server has now wants it to stay so.
        keeps = times != reservation.Times() and preempted.MARK in instance.system_metadata
        if wanted != before or keeps:
            reservation.check_cap(wanted, cap)
            elastic.requested(instance.flavor.extra_specs, {}, wanted)
            _call(cell, instance, wanted)
            _finish(spec, holdings.fetch(cell, server))
        elif times != reservation.Times():
            _store(spec, wanted)
        return wanted


def shrink(context: nova_context.RequestContext, server: str,
           runtime_us: int) -> reservation.Reservation:
    """Give a server a shorter runtime for a more critical one, and write down what it had.

    :returns: what it had
    :raises RefusedError: if it stays as it was
    :raises NotFound: if Nova does not know it
    """
    with _server(context, server) as (cell, spec, instance):
        _finish(spec, instance)
        before = _reservation_of(instance)
        mark = preempted.shrunk(instance, spec.scheduler_hints or {}, before)
        _call(cell, instance, before.with_times(reservation.Times(runtime_us)), mark)
        _finish(spec, holdings.fetch(cell, server))
        return before


def give_back(context: nova_context.RequestContext, server: str,
              has_room: Callable[[objects.Instance, reservation.Reservation], bool],
              ) -> reservation.Reservation | None:
    """Give a shrunk server what it asks for, or finish what was begun.

    :param has_room: whether it may have this reservation now
    :returns: what it has then, None if it stays shrunk
    :raises RefusedError: if it stays as it was
    :raises NotFound: if Nova does not know it
    """
    with _server(context, server) as (cell, spec, instance):
        mark = preempted.mark_of(instance)
        _finish(spec, instance)
        if mark is None or preempted.MARK not in instance.system_metadata:
            return _reservation_of(instance) if mark is not None else None
        has = _reservation_of(instance)
        wanted = has.with_times(_asked_before(context, spec, instance, mark))
        if instance.task_state is not None or not has_room(instance, wanted):
            return None
        _call(cell, instance, wanted, dataclasses.replace(
            mark, was_us=has.runtime_us, period_us=has.period_us, returned=True))
        _finish(spec, holdings.fetch(cell, server))
        return wanted


@contextlib.contextmanager
def _server(context: nova_context.RequestContext, server: str) -> Iterator[tuple[
        nova_context.RequestContext, objects.RequestSpec, objects.Instance]]:
    """Give the context of a server's cell, its request, and the server.

    :raises RefusedError: if it is in no cell
    """
    with compute_call.located(context, server) as (cell, instance):
        yield cell, objects.RequestSpec.get_by_instance_uuid(context, server), instance


def _call(cell: nova_context.RequestContext, instance: objects.Instance,
          wanted: reservation.Reservation, mark: preempted.Mark | None = None) -> None:
    # An older nova-rt-compute knows no note.
    note = {} if mark is None else {'note': mark.to_text()}
    compute_call.call(
        cell, instance, 'change_reservation',
        'run this again when it does, which finishes or repeats the change', 'within a minute',
        runtime_us=wanted.runtime_us, period_us=wanted.period_us, **note)


def _asked_before(context: nova_context.RequestContext, spec: objects.RequestSpec,
                  instance: objects.Instance, mark: preempted.Mark) -> reservation.Times:
    """Return what a server is owed that was shrunk: what it had, or what its new flavor says.

    Not what the request says: where a server is moved, Nova puts the flavor that it has there.
    """
    if instance.instance_type_id == mark.flavor:
        return reservation.Times(mark.owed_us)
    try:
        flavor = objects.Flavor.get_by_flavor_id(context, instance.flavor.flavorid)
    except exception.FlavorNotFound:
        return reservation.Times(mark.owed_us)
    return reservation.times_from_hints(
        preempted.former_hints(spec.scheduler_hints or {}, mark)).over(
            reservation.times_from_extra_specs(flavor.extra_specs))


def _finish(spec: objects.RequestSpec, instance: objects.Instance) -> None:
    """Store the hint of a server that was changed, and unlock it.

    :raises RefusedError: if another operation has begun
    """
    if holdings.HINT_DUE not in instance.system_metadata:
        return
    mark = preempted.mark_of(instance)
    if mark is not None and mark.returned:
        spec.scheduler_hints = preempted.former_hints(spec.scheduler_hints or {}, mark)
        del instance.system_metadata[preempted.MARK]
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
    if hints != (spec.scheduler_hints or {}) or spec.obj_what_changed():
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
