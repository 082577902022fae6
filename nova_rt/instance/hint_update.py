# SPDX-License-Identifier: Apache-2.0
"""Changes a server's hint, and with it its reservation: the operator's side.

The server's compute node changes the reservation, all or nothing, and leaves
the server locked; then the hint is stored and the server unlocked. What was
interrupted between is finished the next time: the server says what its hint
has to be.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import rpcapi
import oslo_messaging

from nova_rt import errors
from nova_rt import reservation
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place

_VERSION = '6.0'
_PREFIX = reservation.EXTRA_SPEC_PREFIX


class RefusedError(errors.NovaRTError):
    """The reservation is not changed; the message is one sentence."""


class UnansweredError(RefusedError):
    """The server's host did not answer, or failed at it."""


def change(context: nova_context.RequestContext, server: str,
           times: reservation.Times, cap: int, locked: bool = True) -> reservation.Reservation:
    """Give a server another runtime or period, or both, by its hint.

    :param server: its uuid
    :param times: those to change; none to finish what was interrupted
    :param cap: largest bandwidth admitted per pCPU, in fixed point
    :param locked: whether a server that its users have locked is changed, too
    :returns: what it has now
    :raises RefusedError: if it stays as it was
    :raises InvalidReservationError: if the new reservation would be invalid
    :raises InstanceMappingNotFound, RequestSpecNotFound, InstanceNotFound: if
        Nova does not know it
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    spec = objects.RequestSpec.get_by_instance_uuid(context, server)
    if mapping.cell_mapping is None:
        raise RefusedError('The server is on no host yet.')
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        instance = holdings.fetch(cell, server)
        if instance.locked and not locked:
            raise RefusedError('The server is locked: unlock it first.')
        _finish(spec, instance)
        before = _reservation_of(instance)
        wanted = before.with_times(times)
        if wanted != before:
            reservation.check_cap(wanted, cap)
            _call(cell, instance, wanted)
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
        raise RefusedError('Another operation on the server is under way: run this again when '
                           'it has ended.') from None


def _reservation_of(instance: objects.Instance) -> reservation.Reservation:
    has = flavors.reservation_of(instance.flavor)
    if has is None:
        raise RefusedError('The server has no reservation: resize it to a '
                           'flavor that has one.')
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


def _call(context: nova_context.RequestContext, instance: objects.Instance,
          wanted: reservation.Reservation) -> None:
    if not instance.host:
        raise RefusedError('The server is on no host: unshelve it first.')
    with _refusals_explained(instance.host):
        rpcapi.ComputeAPI().router.client(context).prepare(
            server=instance.host, version=_VERSION).call(
                context, 'change_reservation', instance=instance,
                runtime_us=wanted.runtime_us, period_us=wanted.period_us)


@contextlib.contextmanager
def _refusals_explained(host: str) -> Iterator[None]:
    """Say in a sentence what the host answered, or that it did not.

    :raises RefusedError: in place of what was raised
    """
    try:
        yield
    except exception.ResizeError as exc:
        raise RefusedError(
            f'The server stays as it was: {exc.kwargs["reason"]}.'
            if 'reason' in exc.kwargs else str(exc)) from None
    except (oslo_messaging.MessagingTimeout, oslo_messaging.MessageDeliveryFailure):
        raise UnansweredError(
            f'nova-rt-compute on {host} does not answer: run this again when '
            'it does, which finishes or repeats the change.') from None
    except oslo_messaging.RemoteError as exc:
        raise UnansweredError(
            f'nova-rt-compute on {host} could not do it ({exc.exc_type}): see '
            'its log, and upgrade it if it is older than this. What it has '
            'begun it undoes when it starts.') from None
