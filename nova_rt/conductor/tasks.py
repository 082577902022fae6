# SPDX-License-Identifier: Apache-2.0
"""Nova's conductor tasks, of which the one that builds new servers lets some wait.

Nova schedules new servers, and buries those for which there is no host in cell0. What is
overridden is the step between: a server that lacks nothing but room keeps its request to be
built, and waits. One that has waited goes the same way again, in an attempt of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import contextvars
import dataclasses
import time
from typing import Any

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import vm_states
from nova.conductor import manager
from oslo_config import cfg
from oslo_limit import exception as limit_exceptions
from oslo_log import log as logging

from nova_rt import reservation
from nova_rt.conductor import holds
from nova_rt.conductor import requests
from nova_rt.conductor import room
from nova_rt.explain import quotas
from nova_rt.instance import request_specs
from nova_rt.instance import waiting

LOG = logging.getLogger(__name__)
CONF = cfg.CONF


@dataclasses.dataclass(frozen=True, slots=True)
class _Attempt:
    """What this thread is trying to place.

    :ivar request: it as text, of one that may begin to wait
    :ivar hold: on one that has waited
    """

    request: str = ''
    hold: holds.Hold | None = None


_current: contextvars.ContextVar[_Attempt | None] = contextvars.ContextVar(
    'nova_rt_attempt', default=None)


class RTComputeTaskManager(manager.ComputeTaskManager):
    """Nova's tasks; new servers may wait for room."""

    def schedule_and_build_instances(
            self, context: nova_context.RequestContext,
            build_requests: list[objects.BuildRequest],
            request_specs: list[objects.RequestSpec], image: Any, admin_password: Any,
            injected_files: Any, requested_networks: Any, block_device_mapping: Any,
            tags: Any = None) -> None:
        """See base class."""
        attempt = _current.get()
        if attempt is None and _may_wait(request_specs, injected_files):
            # Now: scheduling leaves its traces in the request.
            attempt = _Attempt(requests.to_text(context, {
                'request_specs': request_specs, 'image': image,
                'admin_password': None, 'injected_files': injected_files,
                'requested_networks': requested_networks,
                'block_device_mapping': block_device_mapping, 'tags': tags}))
        with _trying(attempt):
            super().schedule_and_build_instances(
                context, build_requests, request_specs, image, admin_password,
                injected_files, requested_networks, block_device_mapping, tags)

    def try_again(self, hold: holds.Hold, request: str) -> None:
        """Try to place a server that waits; it waits on if there is no room.

        :raises Exception: whatever Nova meets after it has found a host
        """
        context, arguments = requests.from_text(request)
        try:
            build_request = objects.BuildRequest.get_by_instance_uuid(context, hold.server)
        except exception.BuildRequestNotFound:
            return
        admin = nova_context.get_admin_context()
        # Nova would add to what an attempt has left whose answer was lost, or that was killed.
        self.report_client.delete_allocation_for_instance(admin, hold.server, force=True)
        try:
            with _trying(_Attempt(hold=hold)):
                self.schedule_and_build_instances(context, [build_request], **arguments)
        except (exception.TooManyInstances, limit_exceptions.ProjectOverLimit):
            # Nova has given it this fault, and leaves it what others may wait for.
            self.report_client.delete_allocation_for_instance(admin, hold.server, force=True)
            raise

    def give_up(self, hold: holds.Hold, request: str, reason: str) -> None:
        """Give a server its fault, as Nova would have done at once.

        Also if what was sent with it cannot be read; then its volumes stay reserved.

        :raises LostError, GoneError: if it is not ours to bury
        """
        context = nova_context.get_admin_context()
        try:
            build_request = objects.BuildRequest.get_by_instance_uuid(context, hold.server)
        except exception.BuildRequestNotFound:
            return
        spec = objects.RequestSpec.get_by_instance_uuid(context, hold.server)
        sent: dict[str, Any] = {}
        try:
            _, sent = requests.from_text(request)
        except Exception:
            LOG.exception('What was sent with server %s cannot be read.', hold.server)
        self.report_client.delete_allocation_for_instance(context, hold.server, force=True)
        hold.go_on(waiting.Step.LEAVES)
        super()._bury_in_cell0(
            context, spec, no_valid_host(reason), build_requests=[build_request],
            block_device_mapping=sent.get('block_device_mapping'), tags=sent.get('tags'))

    def _schedule_instances(self, context: nova_context.RequestContext,
                            request_spec: objects.RequestSpec, instance_uuids: Any = None,
                            return_alternates: bool = False) -> Any:
        attempt = _current.get()
        if attempt is not None and attempt.hold is not None and attempt.hold.avoid:
            # A copy: when it is moved one day, it may go there.
            request_spec = request_spec.obj_clone()
            request_spec.ignore_hosts = [
                *(request_spec.ignore_hosts or ()), *sorted(attempt.hold.avoid)]
        hosts = super()._schedule_instances(
            context, request_spec, instance_uuids, return_alternates)
        if attempt is not None and attempt.hold is not None:
            attempt.hold.chosen = hosts[0][0].service_host
            # Of one that was deleted, Nova itself finds out next, and gives back what it has.
            with contextlib.suppress(holds.GoneError):
                attempt.hold.go_on(waiting.Step.LEAVES)
        return hosts

    def _bury_in_cell0(
            self, context: nova_context.RequestContext, request_spec: objects.RequestSpec,
            exc: Exception, build_requests: list[objects.BuildRequest] | None = None,
            instances: list[objects.Instance] | None = None, block_device_mapping: Any = None,
            tags: Any = None) -> None:
        attempt = _current.get()
        if attempt is not None and not instances:
            try:
                if self._keeps_waiting(context, attempt, request_spec, exc):
                    return
            except (holds.LostError, holds.GoneError) as lost:
                LOG.info('%s', lost)
                return
        super()._bury_in_cell0(context, request_spec, exc, build_requests, instances,
                               block_device_mapping, tags)

    def _keeps_waiting(self, context: nova_context.RequestContext, attempt: _Attempt,
                       spec: objects.RequestSpec, exc: Exception) -> bool:
        """Return whether a server that found no host waits, from now or still.

        :raises LostError, GoneError: if it is not ours to bury
        """
        if isinstance(exc, holds.LostError):
            raise exc
        hold = attempt.hold
        if hold is None:
            return isinstance(exc, exception.NoValidHost) and _begins(
                context, attempt.request, spec, _reason(exc))
        if not isinstance(exc, exception.NoValidHost):
            # A scheduler that does not answer is no reason against it, and may have allocated.
            LOG.warning('Server %s, which waits for room, was not placed: %s', hold.server, exc)
            hold.let_go()
            return True
        reason = _reason(exc)
        # Whatever it is: it may pass, and the server has its time.
        hold.put_back(reason or hold.before.mark.reason)
        return True

    def _delete_build_request(
            self, context: nova_context.RequestContext, build_request: objects.BuildRequest,
            instance: objects.Instance, cell: Any, instance_bdms: Any,
            instance_tags: Any) -> bool:
        attempt = _current.get()
        if attempt is not None and attempt.hold is not None:
            try:
                attempt.hold.end()
            except holds.LostError as exc:
                # What is in the cell by now is the other's to settle.
                LOG.warning('%s', exc, instance=instance)
                return False
            except holds.GoneError:
                if _is_settled(instance, cell):
                    return False
                # Nova finds the same, and cleans up.
            else:
                return True
        return bool(super()._delete_build_request(
            context, build_request, instance, cell, instance_bdms, instance_tags))


def no_valid_host(reason: str) -> exception.NoValidHost:
    """Return a refusal that has been raised: Nova tells where it was."""
    try:
        raise exception.NoValidHost(reason=reason)
    except exception.NoValidHost as exc:
        return exc


@contextlib.contextmanager
def _trying(attempt: _Attempt | None) -> Iterator[None]:
    token = _current.set(attempt)
    try:
        yield
    finally:
        _current.reset(token)


def _is_settled(instance: objects.Instance, cell: objects.CellMapping) -> bool:
    """Return whether another attempt has given a server its fault meanwhile."""
    with nova_context.target_cell(nova_context.get_admin_context(), cell) as there:
        try:
            found = objects.Instance.get_by_uuid(there, instance.uuid)
        except exception.InstanceNotFound:
            return False
        return bool(found.vm_state == vm_states.ERROR)


def _may_wait(specs: list[objects.RequestSpec], injected_files: Any) -> bool:
    """Return whether new servers are to wait if they find no room: a single one."""
    # What Nova itself never writes down is not written down here.
    if CONF.rt.wait_for_room <= 0 or len(specs) != 1 or injected_files:
        return False
    try:
        return request_specs.reservation_of(specs[0]) is not None
    except reservation.InvalidReservationError:
        return False


def _begins(context: nova_context.RequestContext, request: str, spec: objects.RequestSpec,
            reason: str) -> bool:
    """Return whether a server begins to wait; if that cannot be told, it fails as it would."""
    try:
        return room.is_all_that_lacks(context.elevated(), spec, reason) and _begin(
            context, request, spec, reason)
    except Exception:
        LOG.exception('Server %s does not wait for room.', spec.instance_uuid)
        return False


def _begin(context: nova_context.RequestContext, request: str, spec: objects.RequestSpec,
           reason: str) -> bool:
    wanted = request_specs.reservation_of(spec)
    asked = request_specs.criticality_of(spec, wanted)
    over = _over_quota(context, spec, wanted)
    if over:
        LOG.info('Server %s does not wait for room: %s', spec.instance_uuid, over)
        return False
    now = time.time()
    begun = waiting.begin(context, spec.instance_uuid, waiting.Mark(
        now, now + CONF.rt.wait_for_room, reason, asked.name if asked else ''), request)
    if begun:
        LOG.info('Server %s waits for room for up to %g s: %s', spec.instance_uuid,
                 CONF.rt.wait_for_room, reason)
    return begun


def _over_quota(context: nova_context.RequestContext, spec: objects.RequestSpec,
                wanted: reservation.Reservation | None) -> str:
    """Return which quota a project would exceed with all of its servers that wait.

    Nova's own drivers do not count them. They are counted as if all were of the same size.

    :returns: a sentence; empty for none
    """
    count = 1 + sum(each.project == spec.project_id
                    for each in waiting.everyone(context.elevated()))
    # The share has counted this one as well, and the others.
    return next((str(each) for each in quotas.of(context, spec.flavor, wanted)
                 if each.resource != 'share' and each.servers < count), '')


def _reason(exc: Exception) -> str:
    # Nova's sentence goes round it again when it is given up.
    said = str(getattr(exc, 'kwargs', {}).get('reason') or '') or str(exc)
    # A message adds the traceback of the service that it comes from.
    first, *_ = said.splitlines() or ['']
    return first.removeprefix('No valid host was found. ').strip()
