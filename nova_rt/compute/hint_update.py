# SPDX-License-Identifier: Apache-2.0
"""Changes a server's hint, and with it the reservation that it has.

The server's compute node changes the reservation, all or nothing, and leaves
the server locked; then the hint is stored and the server unlocked. What was
interrupted between is finished the next time: the server tells what its hint
has to be.
"""

from __future__ import annotations

import contextlib

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import rpcapi
import oslo_messaging

from nova_rt import errors
from nova_rt import reservation
from nova_rt.compute import reservation_change
from nova_rt.instance import flavors
from nova_rt.instance import holdings

_VERSION = '6.0'
_PREFIX = reservation.EXTRA_SPEC_PREFIX


class RefusedError(errors.NovaRTError):
    """The reservation is not changed; the message is one sentence."""


def change(context: nova_context.RequestContext, server: str,
           times: reservation.Times, cap: int) -> reservation.Reservation:
    """Give a server another runtime or period, or both, by its hint.

    :param server: its uuid
    :param times: those to change; none to finish what was interrupted
    :param cap: largest bandwidth admitted per pCPU, in fixed point
    :returns: what it has now
    :raises RefusedError: if it stays as it was
    :raises InvalidReservationError: if what is asked for cannot be
    :raises InstanceMappingNotFound, RequestSpecNotFound, InstanceNotFound: if
        Nova does not know it
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    spec = objects.RequestSpec.get_by_instance_uuid(context, server)
    if mapping.cell_mapping is None:
        raise RefusedError('The server is on no host yet.')
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        instance = reservation_change.fetched(cell, server)
        _finish(spec, instance)
        before = flavors.reservation_of(instance.flavor)
        if before is None:
            raise RefusedError('The server has no reservation: resize it to a '
                          'flavor that has one.')
        wanted = _over(before, times)
        if wanted != before:
            reservation.check_cap(wanted, cap)
            _call(cell, instance, wanted)
            _finish(spec, reservation_change.fetched(cell, server))
        elif times != reservation.Times():
            _store(spec, wanted)
        return wanted


def _finish(spec: objects.RequestSpec, instance: objects.Instance) -> None:
    """Store the hint of a server that was changed, and unlock it."""
    if holdings.HINT_DUE not in instance.system_metadata:
        return
    _store(spec, flavors.reservation_of(instance.flavor))
    del instance.system_metadata[holdings.HINT_DUE]
    instance.task_state = None
    # Without one if somebody has reset it meanwhile.
    instance.save(expected_task_state=[reservation_change.CHANGED, None])


def _store(spec: objects.RequestSpec, has: reservation.Reservation) -> None:
    stored = _hints(spec, has)
    if stored != (spec.scheduler_hints or {}):
        spec.scheduler_hints = stored
        spec.save()


def _hints(spec: objects.RequestSpec,
           has: reservation.Reservation) -> dict[str, list[str]]:
    """Return the hints by which the request asks for what a server has."""
    stored = dict(spec.scheduler_hints or {})
    asked = reservation.times_from_hints(stored).over(
        reservation.times_from_extra_specs(spec.flavor.extra_specs))
    for name, new, old in (
            (reservation.RUNTIME, has.runtime_us, asked.runtime_us),
            (reservation.PERIOD, has.period_us, asked.period_us)):
        if new != old:
            stored.pop(_PREFIX + name, None)
            stored[name] = [str(new)]
    return stored


def _over(before: reservation.Reservation,
          times: reservation.Times) -> reservation.Reservation:
    asked = times.over(reservation.Times(before.runtime_us, before.period_us))
    return reservation.Reservation(
        asked.runtime_us, asked.period_us, before.vcpus)


def _call(context: nova_context.RequestContext, instance: objects.Instance,
          wanted: reservation.Reservation) -> None:
    if not instance.host:
        raise RefusedError('The server is on no host: unshelve it first.')
    with _explained(instance.host):
        rpcapi.ComputeAPI().router.client(context).prepare(
            server=instance.host, version=_VERSION).call(
                context, 'change_reservation', instance=instance,
                runtime_us=wanted.runtime_us, period_us=wanted.period_us)


@contextlib.contextmanager
def _explained(host: str):
    try:
        yield
    except exception.ResizeError as why:
        raise RefusedError(f'The server stays as it was: {why.kwargs["reason"]}.'
                      if 'reason' in why.kwargs else str(why)) from None
    except oslo_messaging.MessagingTimeout:
        raise RefusedError(
            f'nova-rt-compute on {host} does not answer: run this again when '
            'it does, which finishes or repeats the change.') from None
    except oslo_messaging.RemoteError as why:
        raise RefusedError(
            f'nova-rt-compute on {host} could not do it ({why.exc_type}): see '
            'its log, and upgrade it if it is older than this. What it has '
            'begun it undoes when it starts.') from None
