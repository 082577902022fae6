# SPDX-License-Identifier: Apache-2.0
"""Stops servers for more critical ones that miss deadlines, and starts them again.

A server that is stopped keeps its reservation in ledger and Placement, so it can always be
started here. What it held is in the kernel alone nobody's meanwhile, and can be lent.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import math
import time

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import manager as nova_manager
from nova.compute import task_states
from nova.compute import vm_states
from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import closing
from nova_rt.compute import backoff
from nova_rt.compute import resource_tracker
from nova_rt.compute import unmoved
from nova_rt.instance import eviction
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.reaction import counts
from nova_rt.reaction import records
from nova_rt.reaction import victim
from nova_rt.virt import containers
from nova_rt.virt import host

LOG = logging.getLogger(__name__)
CONF = cfg.CONF

# What a victim, or the one that misses, may have begun since it was looked at.
_BUSY = (exception.InstanceInvalidState, exception.UnexpectedTaskStateError,
         exception.NotFound)

# After which the message of a stop counts as lost: servers have the time to shut down.
_LOST_S = 600.0
# Between two attempts to start a server that the kernel, or anything else, refuses.
_FIRST_PAUSE_S = 60.0
_LONGEST_PAUSE_S = 3600.0


class Evictions:
    """Stops and starts servers for the compute manager, by Nova's own API.

    :param manager: its driver must have ``reservations`` and ``running()``
    :param tracker: the manager's resource tracker
    """

    def __init__(self, manager: nova_manager.ComputeManager,
                 tracker: resource_tracker.RTResourceTracker) -> None:
        self._manager = manager
        self._tracker = tracker
        # Those of which it is not known whether Nova was told to do what is saved of them.
        self._unsure: set[str] = set()
        # Since when servers are being stopped, by CLOCK_MONOTONIC.
        self._stopping_s: dict[str, float] = {}
        self._starts = backoff.Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        self._made_room_s = 0.0
        # The last one for which another was stopped: nobody else is to have that room first.
        self._misser: str | None = None

    def made_room(self) -> str | None:
        """Note that a server has been stopped: who asked before that has none stopped for it.

        :returns: for whom, None if that was before this service began
        """
        self._made_room_s = time.monotonic()
        return self._misser

    def evict(self, server: str, most: int, asked_s: float) -> bool:
        """Stop one server so that more can be lent to another.

        :param server: the one that misses deadlines, by its uuid
        :param most: the bandwidth that may be lent on each pCPU, in fixed point
        :param asked_s: when it was found that nothing else helps, by CLOCK_MONOTONIC
        :returns: whether one is stopped now
        :raises NovaRTError: if what runs is not known
        """
        if asked_s < self._made_room_s:
            return False
        context = nova_context.get_admin_context()
        instances = {instance.uuid: instance for instance in objects.InstanceList.get_by_host(
            context, self._manager.host,
            expected_attrs=['system_metadata', 'flavor', 'info_cache'])}
        running: Mapping[str, containers.Container] = self._manager.driver.running()
        residents = {uuid: resident for uuid, instance in instances.items()
                     if uuid in running and (resident := _resident(instance)) is not None}
        if (server not in residents or not _is_at_rest(instances[server])
                or any(map(_is_being_stopped, instances.values()))):
            return False
        reservations: host.Host = self._manager.driver.reservations
        chosen = victim.choose(
            reservations.empty, residents, server, most, reservations.loan(running[server].pid),
            CONF.rt.evict_choice, reservations.one_runtime)
        return chosen is not None and self._stop(context, chosen, server)

    def _stop(self, context: nova_context.RequestContext, server: str, misser: str) -> bool:
        # In this order: what its user begins from here on has a higher number.
        after = eviction.last_action(context, server)
        # Before it is over, the other has missed as often again, and has its loan.
        for_s = min(closing.LONGEST_S, max(CONF.rt.evict_for, CONF.rt.miss_window))
        until_s = math.ceil(time.time() + for_s)
        with unmoved.fetched(context, server) as instance:
            if not _is_at_rest(instance) or instance.locked:
                return False
            mark = eviction.Mark(
                eviction.digest(misser), until_s,
                eviction.digest(self._tracker.node_of(instance)), context.request_id, after)
            eviction.put(instance, mark)
            self._misser = misser
            if not self._order(self._manager.compute_api.stop, context, instance):
                return False
        LOG.info('Stopping server %s for server %s, which misses deadlines ([rt] evict_choice '
                 '= %s)', instance.uuid, misser, CONF.rt.evict_choice)
        self._tracker.close(instance, mark)
        counts.add(counts.Reaction.STOP)
        _tell_stopped(instance.uuid, mark)
        records.write(misser, (
            'It misses deadlines, and nothing else helps: a less critical server on its CPUs is '
            'stopped, so that what that one held can be lent.'), records.EVICT)
        return True

    def _order(self, act: Callable[[nova_context.RequestContext, objects.Instance], None],
               context: nova_context.RequestContext, instance: objects.Instance) -> bool:
        """Have Nova stop or start a server, with what is to be saved of it.

        :returns: whether it does; if not, something else was begun with the server
        """
        try:
            act(context, instance)
        except _BUSY as exc:
            LOG.info('Neither stopped nor started: %s', exc, instance=instance)
            return False
        except Exception:
            # A database that went away may have saved it.
            self._unsure.add(instance.uuid)
            raise
        return True

    def look(self, context: nova_context.RequestContext) -> None:
        """Start those again whose time has come, and forget those with whom it is over."""
        for server in {*self._tracker.evicted, *self._unsure}:
            try:
                self._look_at(context, holdings.fetch(context, server))
            except exception.InstanceNotFound:
                self._forget(server)
            except Exception as exc:
                LOG.warning('Whether server %s, which was stopped for another, can be started '
                            'again, is looked at later: %s', server, exc)

    def _look_at(self, context: nova_context.RequestContext,
                 instance: objects.Instance) -> None:
        mark = eviction.mark_of(instance)
        if mark is None or instance.host != self._manager.host:
            self._forget(instance.uuid)
            return
        if instance.uuid in self._unsure or self._is_lost(instance):
            self._order_again(context, instance)
            self._tracker.close(instance, mark)
        due = eviction.due(instance, mark, self._tracker.node_of(instance), time.time())
        if instance.vm_state == vm_states.STOPPED and instance.task_state is None:
            actions = list(objects.InstanceActionList.get_by_instance_uuid(
                context, instance.uuid))
            if eviction.taken_over(mark, actions):
                due = eviction.Due.FORGET if due is eviction.Due.START else due
            elif not mark.again and not _is_told(mark, actions):
                # The service was killed, or the database away.
                _tell_stopped(instance.uuid, mark)
        if due is eviction.Due.FORGET:
            with unmoved.fetched(context, instance.uuid) as present:
                eviction.remove(present)
                present.save(expected_task_state=[None])
            self._forget(instance.uuid)
        elif (due is eviction.Due.START and self._starts.is_due(instance.uuid)
              and not self._has_loan(mark.misser)):
            self._start(context, instance, mark)

    def _is_lost(self, instance: objects.Instance) -> bool:
        """Return whether a server is being stopped for so long that Nova is told again."""
        if instance.task_state != task_states.POWERING_OFF:
            self._stopping_s.pop(instance.uuid, None)
            return False
        now_s = time.monotonic()
        return now_s >= self._stopping_s.setdefault(instance.uuid, now_s) + _LOST_S

    def _order_again(self, context: nova_context.RequestContext,
                     instance: objects.Instance) -> None:
        """Tell Nova once more to do what is saved of a server: it does it once."""
        if instance.task_state == task_states.POWERING_OFF:
            self._manager.compute_rpcapi.stop_instance(context, instance)
        elif instance.task_state == task_states.POWERING_ON:
            self._manager.compute_rpcapi.start_instance(context, instance)
        self._unsure.discard(instance.uuid)
        self._stopping_s.pop(instance.uuid, None)

    def _start(self, context: nova_context.RequestContext, instance: objects.Instance,
               mark: eviction.Mark) -> None:
        self._starts.tried(instance.uuid)
        own = nova_context.get_admin_context()
        after = eviction.last_action(context, instance.uuid)
        with unmoved.fetched(context, instance.uuid) as present:
            eviction.put(present, eviction.Mark(
                mark.misser, mark.until_s, mark.node, own.request_id, after, again=True))
            ordered = self._order(self._manager.compute_api.start, own, present)
        if ordered:
            LOG.info('Starting server %s again, which was stopped for another', instance.uuid)
            if not mark.again:
                counts.add(counts.Reaction.START)
                records.write(instance.uuid, (
                    'It is started again: the server for which it was stopped has nothing on '
                    'loan any more.'), records.EVICT)

    def _has_loan(self, misser: str) -> bool:
        running: Mapping[str, containers.Container] = self._manager.driver.running()
        return any(eviction.digest(server) == misser
                   and bool(self._manager.driver.reservations.loan(container.pid))
                   for server, container in running.items())

    def _forget(self, server: str) -> None:
        self._unsure.discard(server)
        self._stopping_s.pop(server, None)
        self._starts.forget(server)
        self._tracker.evicted.pop(server, None)


def _tell_stopped(server: str, mark: eviction.Mark) -> None:
    records.write(server, (
        'A more critical server on its CPUs misses deadlines, and nothing else helps: this one '
        f'is stopped ([rt] evict_choice = {CONF.rt.evict_choice}). It is started again after '
        f'{closing.clock(mark.until_s)}, when the other has nothing on loan any more; or start '
        'it yourself.'), records.EVICT)


def _is_told(mark: eviction.Mark, actions: Iterable[objects.InstanceAction]) -> bool:
    """Return whether its user can read why a server was stopped."""
    return any(each.id > mark.after and each.action == records.EVICT for each in actions)


def _resident(instance: objects.Instance) -> victim.Resident | None:
    """Return a server as it is chosen by, None if it holds nothing."""
    holding = in_place.occupied_by(instance)
    if holding is None:
        return None
    return victim.Resident(
        instance.project_id, holding, instance.flavor.memory_mb,
        # Who was started by its user is not stopped again before its time is over.
        _is_at_rest(instance) and not instance.locked
        and eviction.MARK not in instance.system_metadata,
        frozenset(vif['network']['id'] for vif in instance.get_network_info() or ()))


def _is_at_rest(instance: objects.Instance) -> bool:
    """Return whether nothing is being done with a server that is active."""
    return bool(instance.vm_state == vm_states.ACTIVE) and instance.task_state is None


def _is_being_stopped(instance: objects.Instance) -> bool:
    return (eviction.MARK in instance.system_metadata
            and instance.task_state == task_states.POWERING_OFF)
