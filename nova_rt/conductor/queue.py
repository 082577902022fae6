# SPDX-License-Identifier: Apache-2.0
"""The queue of the waiting: who is tried next, who has waited long enough, who was left behind.

One is tried at a time in the whole cloud, the most critical first and then who waits longest;
one for which there is no room does not hold up the others. Whatever a conductor was at when it
was killed is in the database, and another one goes on with it.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import time

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import vm_states
import nova.conf
from oslo_log import log as logging

from nova_rt import criticality
from nova_rt import errors
from nova_rt.conductor import holds
from nova_rt.conductor import preemption
from nova_rt.conductor import requests
from nova_rt.conductor import room
from nova_rt.conductor import tasks
from nova_rt.instance import waiting

LOG = logging.getLogger(__name__)
CONF = nova.conf.CONF

# How long a server is not tried again while the hosts that seem to have room report the same.
_PATIENCE_S = 60.0

# How often it is asked who is shrunk; also if nobody is to wait, or to be shrunk, any more.
_ASKS_S = 60.0
_ASKS_OFF_S = 300.0

_KILLED = ('A nova-rt-conductor was killed while it built this server, which had waited for '
           'room: delete the server and create it again')


class UnknownPlaceError(errors.NovaRTError):
    """It is not known whether a server is in a cell."""


class Queue:
    """Looks after those who wait, and those who were shrunk for them.

    :param conductor: places them
    :ivar asks_s: how often it is asked who is shrunk, in seconds
    """

    def __init__(self, conductor: tasks.RTComputeTaskManager) -> None:
        self._tasks = conductor
        self.asks_s = _ASKS_S
        self._next_s = 0.0
        # By server: what the hosts with room reported when it was tried last, and when.
        self._tried: dict[str, tuple[str, float]] = {}
        # Who waited the last time.
        self._known: set[str] = set()
        # By server: how often room was made for it in vain, and until when it is not again.
        self._vain: dict[str, tuple[int, float]] = {}

    def sweep(self, context: nova_context.RequestContext) -> None:
        """Try each that waits once, as far as there may be room for it.

        :param context: of an administrator
        """
        if not CONF.api_database.connection:
            # A conductor for the compute hosts of one cell has nothing to do with new servers.
            return
        off = CONF.rt.wait_for_room <= 0 and not preemption.is_wanted()
        if off and time.monotonic() < self._next_s:
            # Who is left of when they were on is looked for now and then.
            return
        everyone = waiting.everyone(context)
        self._clean_up(context, {each.server for each in everyone})
        shrunk = self._shrunk(context, _ASKS_OFF_S if off else self.asks_s)
        self._tried = {each.server: self._tried[each.server]
                       for each in everyone if each.server in self._tried}
        self._vain = {each.server: self._vain[each.server]
                      for each in everyone if each.server in self._vain}
        if not everyone and not shrunk:
            return
        look = room.Look(context)
        for level in sorted(criticality.Criticality, reverse=True):
            # Who has been shrunk has been promised the room before.
            self._give_back(context, look, [
                (server, host) for each, server, host in shrunk if each is level], level)
            for each in everyone:
                if each.criticality is not level:
                    continue
                if each.mark.held(time.time()):
                    if each.mark.step is waiting.Step.TRIED:
                        # Another conductor is at it; those behind it are not to overtake.
                        return
                    continue
                self._try(context, each, look)

    def _clean_up(self, context: nova_context.RequestContext, servers: set[str]) -> None:
        """Forget those who have been deleted while they waited, as Nova would have done."""
        gone, self._known = self._known - servers, servers
        for server in gone:
            with contextlib.suppress(exception.NotFound):
                mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
                if mapping.cell_mapping is None and mapping.queued_for_delete and (
                        not waiting.exists(context, server)):
                    mapping.destroy()
                    objects.RequestSpec.get_by_instance_uuid(context, server).destroy()

    def _shrunk(self, context: nova_context.RequestContext, asks_s: float,
                ) -> list[tuple[criticality.Criticality, str, str | None]]:
        """Return who is shrunk, now and then: no index helps a database to tell."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return []
        self._next_s = now_s + asks_s
        return preemption.shrunk(context)

    def _try(self, context: nova_context.RequestContext, each: waiting.Waiting,
             look: room.Look) -> None:
        try:
            self._look_after(context, each, look)
        except (holds.LostError, holds.GoneError) as exc:
            LOG.info('%s', exc)
        except Exception:
            # It is tried again, or taken over.
            LOG.exception('Server %s, which waits for room, was not placed.', each.server)

    def _give_back(self, context: nova_context.RequestContext, look: room.Look,
                   shrunk: list[tuple[str, str | None]],
                   level: criticality.Criticality) -> None:
        """Give servers of a criticality what was taken from them, as far as there is room.

        Not on hosts for which a more critical one waits: it would be taken again.
        """
        before = [each for each in waiting.everyone(context)
                  if each.criticality > level] if shrunk else []
        for server, host in shrunk:
            try:
                preemption.give_back(context, server, host is None or not any(
                    look.may_take(host, spec) and preemption.may_use(context, host, spec)
                    for spec in map(_spec_of, before)))
            except Exception:
                LOG.exception('Server %s was not given back what it had.', server)

    def _look_after(self, context: nova_context.RequestContext, each: waiting.Waiting,
                    look: room.Look) -> None:
        over = time.time() >= each.mark.until_s
        left_behind = each.mark.step is not waiting.Step.WAITS
        fits = '' if over else look.may_fit(_spec_of(each))
        preempts = preemption.is_wanted() and bool(each.mark.criticality)
        if over or left_behind or ((fits or preempts) and self._is_new(
                each, f'{fits}\n{look.picture() if preempts else ""}')):
            if over or left_behind or fits:
                self._go_on(context, each, look, over, left_behind)
            if preempts and not over:
                self._make_room(context, each.server, look)

    def _go_on(self, context: nova_context.RequestContext, each: waiting.Waiting,
               look: room.Look, over: bool, left_behind: bool) -> None:
        """Place a server, or give it up."""
        hold = holds.take(context, each)
        if hold is None:
            return
        request = waiting.request_of(each)
        with _at(hold):
            if left_behind and self._settled(context, hold, request):
                return
            if over:
                self._tasks.give_up(hold, request, each.mark.reason)
            else:
                self._place(hold, request, look)

    def _place(self, hold: holds.Hold, request: str, look: room.Look) -> None:
        """Try to place a server, where nobody was placed before in this round.

        Placement knows of that one at once, but of the sum only: the hosts that the scheduler
        sees have reported before, and a claim may refuse what it is sent.
        """
        hold.avoid = frozenset(look.sent)
        self._tasks.try_again(hold, request)
        if hold.chosen is not None:
            look.sent.add(hold.chosen)

    def _make_room(self, context: nova_context.RequestContext, server: str,
                   look: room.Look) -> None:
        """Place a server that still waits where others give up some."""
        if time.monotonic() < self._vain.get(server, (0, 0.0))[1]:
            return
        each = waiting.find(context, server)
        hold = None if each is None else holds.take(context, each)
        if each is None or hold is None:
            return
        request = waiting.request_of(each)
        with _at(hold):
            shrunk = preemption.make_room(
                context, _spec_of(each), lambda: hold.go_on(waiting.Step.TRIED))
            if shrunk is None:
                hold.put_back(each.mark.reason)
                return
            self._place(hold, request, look)
        if waiting.find(context, server) is None:
            self._vain.pop(server, None)
            return
        # What keeps it away is something else: nobody is to be shrunk for that again and again.
        for each_shrunk in shrunk:
            preemption.give_back(context, each_shrunk, allowed=True)
        times, _ = self._vain.get(server, (0, 0.0))
        self._vain[server] = times + 1, time.monotonic() + _PATIENCE_S * 2 ** times

    def _is_new(self, each: waiting.Waiting, seen: str) -> bool:
        """Return whether the hosts report something else than when it was tried just now."""
        before, when_s = self._tried.get(each.server, ('', 0.0))
        now_s = time.monotonic()
        if seen == before and now_s < when_s + _PATIENCE_S:
            return False
        self._tried[each.server] = seen, now_s
        return True

    def _settled(self, context: nova_context.RequestContext, hold: holds.Hold,
                 request: str) -> bool:
        """Put right what an attempt that is dead has left; return whether that was the end.

        What it had allocated is given back. Nothing was sent to a host, as the request to
        build the server is still there. But a server that is in a cell already is not made
        anew: it gets a fault.
        """
        cells = {cell.uuid: cell for cell in objects.CellMappingList.get_all(context)}
        found = nova_context.scatter_gather_cells(
            context, cells.values(), nova_context.CELL_TIMEOUT, _has, hold.server)
        for uuid, answer in found.items():
            if answer is True:
                with nova_context.target_cell(context, cells[uuid]) as there:
                    self._fail(context, there, cells[uuid], hold, request)
                return True
        if not all(answer is False for answer in found.values()):
            raise UnknownPlaceError('Not all cells say whether they have the server.')
        # From here on, whoever is stopped and finds it in a cell knows that another put it there.
        hold.go_on(waiting.Step.TRIED)
        return False

    def _fail(self, context: nova_context.RequestContext, there: nova_context.RequestContext,
              cell: objects.CellMapping, hold: holds.Hold, request: str) -> None:
        reason = hold.before.mark.reason if cell.is_cell0() else _KILLED
        _, arguments = requests.from_text(request)
        instance = objects.Instance.get_by_uuid(there, hold.server)
        # By these, Nova gives the volumes back when the server is deleted.
        self._tasks._create_block_device_mapping(
            cell, instance.flavor, hold.server, arguments['block_device_mapping'])
        if arguments['tags']:
            self._tasks._create_tags(there, hold.server, arguments['tags'])
        self._tasks._set_vm_state_and_notify(
            there, hold.server, 'build_instances',
            {'vm_state': vm_states.ERROR, 'task_state': None},
            tasks.no_valid_host(reason), arguments['request_specs'][0])
        self._tasks.report_client.delete_allocation_for_instance(
            context, hold.server, force=True)
        mapping = objects.InstanceMapping.get_by_instance_uuid(context, hold.server)
        mapping.cell_mapping = cell
        mapping.save()
        hold.end()


@contextlib.contextmanager
def _at(hold: holds.Hold) -> Iterator[None]:
    """Work on a server; whatever fails before it leaves does not hold up those behind it."""
    with hold.renewed():
        try:
            yield
        except (holds.LostError, holds.GoneError):
            raise
        except Exception:
            if hold.step is waiting.Step.TRIED:
                hold.let_go()
            raise


def _has(context: nova_context.RequestContext, server: str) -> bool:
    """Return whether a cell has a server."""
    try:
        objects.Instance.get_by_uuid(context, server)
    except exception.InstanceNotFound:
        return False
    return True


def _spec_of(each: waiting.Waiting) -> objects.RequestSpec:
    _, arguments = requests.from_text(waiting.request_of(each))
    spec: objects.RequestSpec = arguments['request_specs'][0]
    return spec
