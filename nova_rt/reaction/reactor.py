# SPDX-License-Identifier: Apache-2.0
"""Hears of the misses of this host's servers, and helps at once.

It is a thread of nova-rt-compute. What it does is in the kernel alone, so it needs neither
Nova's databases nor libvirt for it, and is done before anybody is told.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import os
import queue
import select
import threading
import time

from oslo_log import log as logging

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import wording
from nova_rt.monitor import activity
from nova_rt.monitor import watcher
from nova_rt.reaction import counts
from nova_rt.reaction import ears
from nova_rt.reaction import loan_policy
from nova_rt.reaction import shrink_news
from nova_rt.reaction import threshold
from nova_rt.virt import containers
from nova_rt.virt import host

LOG = logging.getLogger(__name__)

# How often it is asked what runs, though nothing was heard of a start.
_REFRESH_S = 30.0
# Of one server, so much time is between two things that its user is told.
QUIET_S = 300.0
# After something unexpected.
_PAUSE_S = 1.0
# After a refusal, for one that is shrunk or has a loan.
_AGAIN_S = 1.0
# How long a stop waits for the thread, which may wait for libvirt.
_PATIENCE_S = 10.0

# Of a server, by its uuid, a sentence.
Tell = Callable[[str, str], None]


@dataclasses.dataclass(frozen=True, slots=True)
class _Help:
    """What was done for a server.

    :ivar lent: whether there was anything to lend
    :ivar ends_s: when that is over, by CLOCK_MONOTONIC
    :ivar until_s: until when the kernel's loan is good without being lent anew
    :ivar told: whether its user was told
    :ivar again_s: from when it may have its own again, if it is shrunk
    :ivar press_s: from when more is done for it if it still misses deadlines
    """

    lent: bool
    ends_s: float
    until_s: float
    told: bool
    again_s: float = 0.0
    press_s: float = float('inf')


def stays(server: str) -> None:
    """Leave a server where it is."""


class Reactor:
    """Watches the servers that run, and lends those that miss their deadlines.

    :param reservations: the host
    :param running: returns the containers or virtual machines that run, by server
    :param policy: who is lent what
    :param tell: is told of each thing done
    :param tell_shrunk: is told of servers that are shrunk for others
    :param quiet_s: least time between two loans of a server that are told
    :param listen: begins to hear of a server
    :param relieve: is asked to make room for a container to which nothing can be lent where
        it is, or to which something has been lent, and it still misses deadlines
    :raises OSError: if the kernel has no inotify instance left for it
    """

    def __init__(self, reservations: host.Host,
                 running: Callable[[], Mapping[str, containers.Container]],
                 policy: loan_policy.LoanPolicy, tell: Tell, tell_shrunk: Tell,
                 quiet_s: float = QUIET_S, listen: ears.Listen = ears.to_container,
                 relieve: Callable[[str], None] = stays) -> None:
        self._host = reservations
        self._running = running
        self._policy = policy
        self._tell = tell
        self._tell_shrunk = tell_shrunk
        self._quiet_s = quiet_s
        self._listen = listen
        self._relieve = relieve
        # Those for which others' threads have made room.
        self._roomy: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._watcher = watcher.Watcher()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._ends = False
        self._refresh_s = 0.0
        # By server: libvirt's id of its domain, its misses, and what was done for it.
        self._known: dict[str, int] = {}
        self._tallies: dict[str, threshold.Tally] = {}
        self._helped: dict[str, _Help] = {}
        self._told_s: dict[str, float] = {}
        # What runs, by libvirt's id.
        self._names: dict[int, str] = {}
        self._shrunk = shrink_news.ShrinkNews(
            reservations, self._say_shrunk, policy.for_s, quiet_s)
        self._waking = threading.Lock()
        self._thread = threading.Thread(
            target=self._run, name='nova-rt reactor', daemon=True)

    def start(self) -> None:
        """Begin, with what runs now."""
        self._thread.start()

    def look_again(self) -> None:
        """Find out what runs, as something has started."""
        with self._waking:
            if not self._ends:
                os.eventfd_write(self._wake, 1)

    def has_room(self, server: str) -> None:
        """Let a server be helped when it misses again; any thread may call."""
        self._roomy.put(server)
        self.look_again()

    def stop(self) -> None:
        """End, and give back what is lent."""
        with self._waking:
            self._ends = True
            os.eventfd_write(self._wake, 1)
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._watcher.fileno(), select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while not self._ends:
            try:
                self._turn(poll)
            except Exception:
                LOG.exception('Hearing of misses goes on after this')
                time.sleep(_PAUSE_S)
        self._end_help(float('inf'))
        self._shrunk.look(self._names)
        self._watcher.close()
        os.close(self._wake)

    def _turn(self, poll: select.poll) -> None:
        """Wait until something happens, and do what is due."""
        if time.monotonic() >= self._refresh_s:
            # First, so that what goes wrong in it costs those nothing that are heard already.
            self._refresh_s = time.monotonic() + _REFRESH_S
            if not self._refresh():
                self._refresh_s = time.monotonic() + _PAUSE_S
        next_s = min([self._refresh_s, self._shrunk.next_s,
                      *(done.ends_s for done in self._helped.values())])
        ready = dict(poll.poll(max(0.0, next_s - time.monotonic()) * 1000))
        if self._wake in ready:
            os.eventfd_read(self._wake)
            self._refresh_s = 0.0
            while not self._roomy.empty():
                self._ask_anew(self._roomy.get())
        if self._watcher.fileno() in ready:
            for news in self._watcher.look():
                self._hear(news)
        self._end_help(time.monotonic())
        if time.monotonic() >= self._shrunk.next_s:
            self._shrunk.look(self._names)

    def _refresh(self) -> bool:
        """Watch what runs, and nothing else; return whether that is known."""
        try:
            running = self._running()
        except errors.NovaRTError as exc:
            LOG.warning('What runs is not known, so no new server is watched: %s', exc)
            return False
        self._names = {container.pid: server for server, container in running.items()}
        self._shrunk.look(self._names)
        for server in self._known.keys() - running.keys():
            self._forget(server)
        for server, container in running.items():
            if container.copy is not None and (
                    self._known.get(server) != container.pid or not self._watcher.hears(server)):
                self._watch(server, container)
        return True

    def _watch(self, server: str, container: containers.Container) -> None:
        self._forget(server)
        try:
            if not self._listen(self._watcher, server, container):
                return
        except Exception as exc:
            # A tenant chose what is there: nobody else pays for what was not foreseen.
            LOG.warning('The misses of server %s are not heard: %s', server, exc,
                        exc_info=not isinstance(exc, OSError))
            return
        self._known[server] = container.pid
        if self._policy.after is not None:
            self._tallies[server] = threshold.Tally(self._policy.after)

    def _forget(self, server: str) -> None:
        self._watcher.remove(server)
        self._known.pop(server, None)
        self._tallies.pop(server, None)
        self._helped.pop(server, None)
        self._told_s.pop(server, None)
        self._shrunk.forget(server)

    def _hear(self, news: activity.News) -> None:
        LOG.debug('The server %s missed %s of its activity %s, %d overruns.', news.server,
                  wording.counted(news.late, 'deadline'), news.record.name, news.overruns)
        tally = self._tallies.get(news.server)
        after = self._policy.after
        if not news.late or tally is None or after is None:
            return
        if tally.add(news.late, news.heard_ns / 1e9):
            self._help(news.server, after)

    def _help(self, server: str, after: threshold.Threshold) -> None:
        """Lend a server something, or let it have for longer what it has."""
        done = self._helped.get(server)
        now_s = time.monotonic()
        ends_s = now_s + self._policy.for_s
        # Who is shrunk has its own again, whatever was done for it earlier.
        if done is None or (done.lent and done.until_s < ends_s) or (
                now_s >= done.again_s and self._known[server] in self._host.shrunk()):
            self._lend(server, after, done, ends_s)
        elif done.lent:
            if now_s >= done.press_s:
                self._relieve(server)
                done = dataclasses.replace(done, press_s=ends_s)
            self._helped[server] = dataclasses.replace(done, ends_s=ends_s)
        # Where nothing could be lent, it is tried again when that time is over.

    def _lend(self, server: str, after: threshold.Threshold, before: _Help | None,
              ends_s: float) -> None:
        # Not to be lent anew at each miss.
        until_s = ends_s + self._policy.for_s
        number = self._known[server]
        shrink = self._host.shrunk().get(number)
        try:
            lent = self._host.lend(number, self._policy.most, until_s, self._policy.shrinks)
        except ProcessLookupError:
            return  # It has just ended.
        except (errors.NovaRTError, OSError) as exc:
            LOG.warning('The server %s misses deadlines, and nothing could be lent to it: %s',
                        server, exc)
            self._helped[server] = self._refused(before, ends_s)
            if shrink is not None:
                self._help_anew(shrink.borrower)
            return
        self._shrunk.look(self._names, None if shrink is None else server)
        if shrink is not None and not lent:
            # It has its own again, and its user was told so.
            self._help_anew(shrink.borrower)
            # It may have had a loan before, of which its user was told.
            self._helped[server] = _Help(False, ends_s, until_s, False) if before is None else (
                dataclasses.replace(before, ends_s=ends_s, until_s=until_s))
            return
        if before is not None and before.lent and lent:
            self._helped[server] = dataclasses.replace(before, ends_s=ends_s, until_s=until_s)
            return
        if lent:
            counts.add(counts.Reaction.LOAN)
        elif self._host.lends:
            self._relieve(server)
        told = time.monotonic() >= self._told_s.get(server, 0.0) + self._quiet_s
        self._helped[server] = _Help(bool(lent), ends_s, until_s, told,
                                     press_s=time.monotonic() + after.window_s)
        if told:
            self._told_s[server] = time.monotonic()
            self._say_what_was_done(server, after, lent)

    def _refused(self, before: _Help | None, ends_s: float) -> _Help:
        """Return what holds for a server where the kernel refused: what it had, it keeps.

        It is not asked again at each miss.
        """
        again_s = time.monotonic() + _AGAIN_S
        if before is None or not before.lent:
            return _Help(False, ends_s, ends_s, False, again_s)
        return dataclasses.replace(
            before, ends_s=ends_s, until_s=again_s + self._policy.for_s, again_s=again_s)

    def _ask_anew(self, server: str) -> None:
        """Let a server have more when it misses again, or anything."""
        done = self._helped.get(server)
        if done is not None and done.lent:
            self._helped[server] = dataclasses.replace(done, until_s=0.0)
        else:
            self._helped.pop(server, None)

    def _help_anew(self, group: str) -> None:
        """Let a server that has less on loan by now be helped when it misses again."""
        for server, done in self._helped.items():
            if self._host.group_of(self._known[server]) == group:
                self._helped[server] = dataclasses.replace(done, until_s=0.0)

    def _say_what_was_done(self, server: str, after: threshold.Threshold,
                           lent: Mapping[int, int]) -> None:
        missed = (f'It missed {wording.counted(after.misses, "deadline")} or more within '
                  f'{after.window_s:g} s')
        if lent:
            most = bandwidth.percent(max(lent.values()))
            self._say(server, f'{missed}: up to {most} of a CPU is lent to each vCPU, until '
                              f'{self._policy.for_s:g} s have passed without that.')
        elif self._host.lends:
            self._say(server, f'{missed}, but nothing is free on its pCPUs.')
        else:
            self._say(server, f'{missed}. Nothing is lent to virtual machines: give it a '
                              'larger reservation if that goes on.')

    def _end_help(self, now_s: float) -> None:
        """Give back what was lent, where its time is over."""
        for server, done in list(self._helped.items()):
            if done.ends_s > now_s:
                continue
            del self._helped[server]
            if not done.lent:
                continue
            try:
                had = self._host.give_back(self._known[server])
            except ProcessLookupError:
                continue  # It has ended, and its loan with it.
            except (errors.NovaRTError, OSError) as exc:
                # The periodic update tries again.
                LOG.warning('The server %s could not give back its loan: %s', server, exc)
                continue
            self._shrunk.look(self._names)
            if done.told:
                self._say(server, 'What was lent to it has been given back.' if had else
                          'What was lent to it was taken back earlier.')

    def _say_shrunk(self, server: str, sentence: str) -> None:
        LOG.info('Server %s: %s', server, sentence)
        self._tell_shrunk(server, sentence)

    def _say(self, server: str, sentence: str) -> None:
        LOG.info('Server %s: %s', server, sentence)
        self._tell(server, sentence)
