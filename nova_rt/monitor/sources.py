# SPDX-License-Identifier: Apache-2.0
"""Where records come from: the folder of a container, the port of a virtual machine."""

from __future__ import annotations

from collections.abc import Iterator
import os
import select
from typing import Protocol

from oslo_log import log as logging

from nova_rt.monitor import folder
from nova_rt.monitor import frames
from nova_rt.monitor import notes as monitor_notes
from nova_rt.monitor import record
from nova_rt.monitor import system

LOG = logging.getLogger(__name__)

# Of a stream, at a time: 21 records.
_AT_ONCE = 4096
_ONCE = select.EPOLLIN | select.EPOLLONESHOT


class Source(Protocol):
    """The records of one server.

    :ivar fd: for epoll
    :ivar same_clock: whether its points in time are the host's
    """

    fd: int
    same_clock: bool

    def wake(self) -> None:
        """Take note that its file can be read."""
        ...

    def arm(self) -> int | None:
        """Be woken once more; return the number of inotify's watch, if it has one."""
        ...

    def disarm(self) -> None:
        """Be woken no more, but for inotify's watch, which others may have as well."""
        ...

    def refresh(self) -> None:
        """Find anew what may have become another."""
        ...

    def contents(self) -> Iterator[tuple[str | None, bytes]]:
        """Yield what may be records, and the name that each must have, if any."""
        ...

    def known(self) -> Iterator[tuple[str | None, bytes]]:
        """Yield the same of what is not news when hearing begins."""
        ...

    def before(self, first: record.Record) -> record.Record:
        """Return what is known of an activity, by the first record that is heard of it."""
        ...

    def has_ended(self) -> bool:
        """Return whether nothing more can come."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class ContainerSource:
    """A container's folder, until its first process ends.

    :raises ProcessLookupError: if there is no such process
    """

    same_clock = True

    def __init__(self, init: int, inotify: system.Inotify, epoll: select.epoll) -> None:
        self._process = folder.Process(init)
        self._folder = folder.Folder(self._process)
        self._inotify = inotify
        self._epoll = epoll
        self._ended = False
        self.fd = self._process.fd
        try:
            epoll.register(self.fd, select.EPOLLIN)
        except OSError:
            self._process.close()
            raise
        self.refresh()

    def wake(self) -> None:
        """Take note that the first process has ended."""
        self._ended = True

    def arm(self) -> int | None:
        """Be woken by the next report, or where the folder appears."""
        if not self._folder.is_there:
            self._folder.find()
        return self._folder.watch(self._inotify)

    def disarm(self) -> None:
        """Leave the watch to who has been told of it."""

    def refresh(self) -> None:
        """Find the folder anew: the container may have mounted something there."""
        self._folder.find()

    def contents(self) -> Iterator[tuple[str | None, bytes]]:
        """Yield what is in the folder."""
        return self._folder.contents()

    def known(self) -> Iterator[tuple[str | None, bytes]]:
        """Yield what is in the folder."""
        return self._folder.contents()

    def before(self, first: record.Record) -> record.Record:
        """Return that nothing is known: the activity is new."""
        return record.unknown(first)

    def has_ended(self) -> bool:
        """Return whether the first process has."""
        return self._ended

    def close(self) -> None:
        """Let go of the folder and the process."""
        self._epoll.unregister(self.fd)
        self._folder.close()
        self._process.close()


class StreamSource:
    """The host's end of a virtio-serial port, until the other end is closed.

    :param stream: which does not wait, and is closed with this
    :param notes: of what has been heard of this start of the virtual machine
    """

    same_clock = False

    def __init__(self, stream: int, epoll: select.epoll, notes: monitor_notes.Notes) -> None:
        os.set_blocking(stream, False)
        self.fd = stream
        self._epoll = epoll
        self._frames = frames.Frames()
        self._notes = notes
        self._ended = False
        epoll.register(stream, _ONCE)

    def wake(self) -> None:
        """Leave what there is to read to :meth:`contents`."""

    def arm(self) -> None:
        """Be woken when there is something to read."""
        self._epoll.modify(self.fd, _ONCE)

    def disarm(self) -> None:
        """Be woken only, and once, when the other end is closed."""
        self._epoll.modify(self.fd, select.EPOLLONESHOT)

    def refresh(self) -> None:
        """Keep the stream."""

    def contents(self) -> Iterator[tuple[str | None, bytes]]:
        """Yield what has come, up to a limit; the rest is for the next time."""
        try:
            data = os.read(self.fd, _AT_ONCE)
        except OSError:
            return  # Nothing has come, or nobody is at the other end at present.
        self._ended = not data
        found = self._frames.feed(data)
        try:
            self._notes.add(found)
        except OSError as exc:
            LOG.warning('What a virtual machine tells of its jobs is heard, but not noted: %s',
                        exc)
        for frame in found:
            yield None, frame

    def known(self) -> Iterator[tuple[str | None, bytes]]:
        """Yield what was heard before, perhaps by a service that has ended."""
        for frame in self._notes.frames():
            yield None, frame

    def before(self, first: record.Record) -> record.Record:
        """Return all but one miss: it may have told the others on another host."""
        return record.all_but_last(first)

    def has_ended(self) -> bool:
        """Return whether the other end was closed."""
        return self._ended

    def close(self) -> None:
        """Close the stream."""
        self._epoll.unregister(self.fd)
        os.close(self.fd)
        if self._ended:
            self._notes.forget()
