# SPDX-License-Identifier: Apache-2.0
"""Hears of the misses of this host's containers, and helps at once.

It is a thread of nova-rt-compute. What it does is in the kernel alone, so it needs neither
Nova's databases nor libvirt for it, and is done before anybody is told.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import os
import select
import threading
import time

from oslo_log import log as logging

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import wording
from nova_rt.monitor import activity
from nova_rt.monitor import watcher
from nova_rt.reaction import loan_policy
from nova_rt.reaction import threshold
from nova_rt.virt import containers
from nova_rt.virt import host

LOG = logging.getLogger(__name__)

# How often it is asked what runs, though nothing was heard of a start.
_REFRESH_S = 30.0
# What is lent is lent anew when so much of its time is left.
_RENEW = 0.5

# Of a server, by its uuid, a sentence.
Tell = Callable[[str, str], None]


@dataclasses.dataclass(frozen=True, slots=True)
class _Help:
    """What was done for a server.

    :ivar lent: whether there was anything to lend
    :ivar ends_s: when that is over, by CLOCK_MONOTONIC
    """

    lent: bool
    ends_s: float


class Reactor:
    """Watches the containers that run, and lends those that miss their deadlines.

    :param reservations: the host
    :param running: returns the containers that run, by server
    :param policy: who is lent what
    :param tell: is told of each thing done
    """

    def __init__(self, reservations: host.Host,
                 running: Callable[[], Mapping[str, containers.Container]],
                 policy: loan_policy.LoanPolicy, tell: Tell) -> None:
        self._host = reservations
        self._running = running
        self._policy = policy
        self._tell = tell
        self._watcher = watcher.Watcher()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._ends = False
        # By server: libvirt's id of its container, its misses, and what was done for it.
        self._known: dict[str, int] = {}
        self._tallies: dict[str, threshold.Tally] = {}
        self._helped: dict[str, _Help] = {}
        self._thread = threading.Thread(
            target=self._run, name='nova-rt reactor', daemon=True)

    def start(self) -> None:
        """Begin, with what runs now."""
        self._thread.start()

    def look_again(self) -> None:
        """Find out what runs, as something has started."""
        os.eventfd_write(self._wake, 1)

    def stop(self) -> None:
        """End, and give back what is lent."""
        self._ends = True
        self.look_again()
        self._thread.join()
        os.close(self._wake)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._watcher.fileno(), select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        refresh_s = 0.0
        while not self._ends:
            if time.monotonic() >= refresh_s:
                self._refresh()
                refresh_s = time.monotonic() + _REFRESH_S
            next_s = min([refresh_s, *(done.ends_s for done in self._helped.values())])
            ready = dict(poll.poll(max(0.0, next_s - time.monotonic()) * 1000))
            if self._wake in ready:
                os.eventfd_read(self._wake)
                refresh_s = 0.0
            if self._watcher.fileno() in ready:
                for news in self._watcher.look():
                    self._hear(news)
            self._end_help(time.monotonic())
        self._end_help(float('inf'))
        self._watcher.close()

    def _refresh(self) -> None:
        """Watch what runs, and nothing else."""
        try:
            running = self._running()
        except errors.NovaRTError as exc:
            LOG.warning('What runs is not known, so no new container is watched: %s', exc)
            return
        for server in self._known.keys() - running.keys():
            self._forget(server)
        for server, container in running.items():
            if container.copy is not None and self._known.get(server) != container.pid:
                self._watch(server, container.pid)

    def _watch(self, server: str, number: int) -> None:
        self._forget(server)
        try:
            self._watcher.add_container(server, containers.first_process(number))
        except ProcessLookupError:
            return  # It has just ended, or cannot be seen from here.
        except OSError as exc:
            LOG.warning('The misses of server %s are not heard: %s', server, exc)
            return
        self._known[server] = number
        if self._policy.after is not None:
            self._tallies[server] = threshold.Tally(self._policy.after)

    def _forget(self, server: str) -> None:
        self._watcher.remove(server)
        self._known.pop(server, None)
        self._tallies.pop(server, None)
        self._helped.pop(server, None)

    def _hear(self, news: activity.News) -> None:
        LOG.debug('The server %s missed %s of its activity %s, %d overruns.', news.server,
                  wording.counted(news.late, 'deadline'), news.record.name, news.overruns)
        tally = self._tallies.get(news.server)
        after = self._policy.after
        if not news.late or tally is None or after is None:
            return
        if tally.add(news.late, news.heard_ns / 1e9) and not self._was_helped(news.server):
            self._lend(news.server, after)

    def _was_helped(self, server: str) -> bool:
        """Return whether what can be done for it was done a moment ago."""
        done = self._helped.get(server)
        return (done is not None
                and done.ends_s - time.monotonic() > self._policy.for_s * _RENEW)

    def _lend(self, server: str, after: threshold.Threshold) -> None:
        ends_s = time.monotonic() + self._policy.for_s
        try:
            lent = self._host.lend(self._known[server], self._policy.most, ends_s)
        except ProcessLookupError:
            return  # It has just ended.
        except (errors.NovaRTError, OSError) as exc:
            LOG.warning('The server %s misses deadlines, and nothing could be lent to it: %s',
                        server, exc)
            return
        before = self._helped.get(server)
        self._helped[server] = _Help(bool(lent), ends_s)
        if before is not None and before.lent == bool(lent):
            return  # It was told.
        missed = (f'It missed {wording.counted(after.misses, "deadline")} or more within '
                  f'{after.window_s:g} s')
        if lent:
            most = bandwidth.percent(max(lent.values()))
            self._say(server, f'{missed}: up to {most} of a CPU is lent to each vCPU, until '
                              f'{self._policy.for_s:g} s have passed without that.')
        else:
            self._say(server, f'{missed}, but nothing is free on its pCPUs.')

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
            except errors.NovaRTError as exc:
                # The periodic update tries again.
                LOG.warning('The server %s could not give back its loan: %s', server, exc)
                continue
            self._say(server, 'What was lent to it has been given back.' if had else
                      'What was lent to it was needed for another server.')

    def _say(self, server: str, sentence: str) -> None:
        LOG.info('Server %s: %s', server, sentence)
        self._tell(server, sentence)
