# SPDX-License-Identifier: Apache-2.0
"""Hears of the misses of all servers at once, and at a bounded cost.

A server is looked at as soon as the kernel tells of its report. One that has taken its share
of a CPU rests: what it reports meanwhile is found at the end of the rest, as records count.
The kernel forgets it until then, and after each event, so that no flood wakes the host.
"""

from __future__ import annotations

from collections.abc import Mapping
import heapq
import select
import threading
import time

from nova_rt.monitor import activity
from nova_rt.monitor import notes
from nova_rt.monitor import record
from nova_rt.monitor import sources
from nova_rt.monitor import system
from nova_rt.monitor import watched

# Others may have missed a deadline meanwhile.
_AT_ONCE = 16


class Watcher:
    """The servers of this host whose misses are heard.

    One thread waits until :meth:`fileno` can be read, by any kind of poll, and then calls
    :meth:`look`. Any thread may add and remove servers meanwhile.

    :raises OSError: if this process has too many files open
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._epoll = select.epoll()
        self._inotify = system.Inotify()
        self._timer = system.Timer()
        self._epoll.register(self._inotify.fd, select.EPOLLIN)
        self._epoll.register(self._timer.fd, select.EPOLLIN)
        self._servers: dict[str, watched.Watched] = {}
        # Containers may have the same folder.
        self._by_watch: dict[int, set[str]] = {}
        self._by_file: dict[int, str] = {}
        # When servers are due, the first one first; some entries are outdated.
        self._due: list[tuple[int, str]] = []

    def fileno(self) -> int:
        """Return a file that can be read when there is something to look at."""
        return self._epoll.fileno()

    def add_container(self, server: str, init: int) -> None:
        """Hear of a container's misses from now on; what it reported before is known.

        It is removed when its first process ends.

        :param init: its first process
        :raises ProcessLookupError: if there is no such process
        :raises OSError: if this process has too many files open
        """
        with self._lock:
            self._add(server, sources.ContainerSource(init, self._inotify, self._epoll))

    def add_stream(self, server: str, stream: int, heard: notes.Notes) -> None:
        """Hear of a virtual machine's misses from now on.

        It is removed when the other end is closed.

        :param stream: the host's end of its port; it belongs to the watcher then
        :param heard: what was heard of it before, which is known
        """
        with self._lock:
            self._add(server, sources.StreamSource(stream, self._epoll, heard))

    def hears(self, server: str) -> bool:
        """Return whether a server was added, and not removed since."""
        with self._lock:
            return server in self._servers

    def remove(self, server: str) -> None:
        """Hear of it no more, if it was heard of."""
        with self._lock:
            self._remove(server)

    def records(self) -> Mapping[str, list[record.Record]]:
        """Return what is known of the activities of each server that is heard of."""
        with self._lock:
            return {server: one.records for server, one in self._servers.items()}

    def look(self) -> list[activity.News]:
        """Return what has happened, without waiting."""
        with self._lock:
            began_ns = time.thread_time_ns()
            servers = self._woken() | self._take_due()
            news = [new for server in servers for new in self._look_at(server)]
            spent_ns = time.thread_time_ns() - began_ns
            self._schedule(servers, spent_ns // max(len(servers), 1))
            return news

    def close(self) -> None:
        """Hear of nothing more."""
        with self._lock:
            for server in list(self._servers):
                self._remove(server)
            self._timer.close()
            self._inotify.close()
            self._epoll.close()

    def _add(self, server: str, source: sources.Source) -> None:
        self._remove(server)
        self._servers[server] = one = watched.Watched(server, source)
        self._by_file[source.fd] = server
        self._arm(server)
        one.learn()
        self._schedule({server}, 0)

    def _remove(self, server: str) -> None:
        one = self._servers.get(server)
        if one is not None:
            self._disarm(server)
            del self._servers[server], self._by_file[one.source.fd]
            one.source.close()

    def _look_at(self, server: str) -> list[activity.News]:
        # Armed before: a report between both is seen twice, not never.
        self._arm(server)
        return self._servers[server].look()

    def _arm(self, server: str) -> None:
        """Let the kernel tell of its next report."""
        one = self._servers[server]
        if one.armed:
            # Nothing has come for long.
            self._disarm(server)
            one.source.refresh()
        one.armed = True
        one.watch = one.source.arm()
        if one.watch is not None:
            self._by_watch.setdefault(one.watch, set()).add(server)

    def _disarm(self, server: str) -> None:
        """Let the kernel forget it."""
        one = self._servers[server]
        one.armed = False
        one.source.disarm()
        if one.watch is not None:
            others = self._by_watch[one.watch]
            others.discard(server)
            if not others:
                del self._by_watch[one.watch]
                self._inotify.forget(one.watch)
        one.watch = None

    def _woken(self) -> set[str]:
        """Return the servers that the kernel tells of, and that it has forgotten now."""
        woken: set[str] = set()
        for fd, _ in self._epoll.poll(0):
            if fd == self._inotify.fd:
                woken |= self._reported()
            elif fd in self._by_file:
                server = self._by_file[fd]
                self._servers[server].source.wake()
                woken.add(server)
        for server in woken:
            self._disarm(server)
        return woken

    def _reported(self) -> set[str]:
        happened = self._inotify.happened()
        if happened is None:
            return set(self._servers)
        return {server for number in happened for server in self._by_watch.get(number, ())}

    def _take_due(self) -> set[str]:
        """Return servers that have rested or told nothing for long, not too many at once."""
        due: set[str] = set()
        now_ns = time.monotonic_ns()
        while self._due and self._due[0][0] <= now_ns and len(due) < _AT_ONCE:
            due_ns, server = heapq.heappop(self._due)
            if server in self._servers and self._servers[server].due_ns == due_ns:
                due.add(server)
        return due

    def _schedule(self, servers: set[str], spent_ns: int) -> None:
        """Say when servers that were looked at are looked at next."""
        for server in servers:
            one = self._servers[server]
            if one.source.has_ended():
                self._remove(server)
                continue
            before_ns = one.due_ns
            if one.spend(spent_ns, len(self._servers)):
                self._disarm(server)
            if one.due_ns != before_ns:
                heapq.heappush(self._due, (one.due_ns, server))
        self._timer.set(self._due[0][0] if self._due else None)
