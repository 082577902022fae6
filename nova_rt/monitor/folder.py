# SPDX-License-Identifier: Apache-2.0
"""Finds and reads the records of a container, whose tenant may have put anything there.

No path leaves the container's root. Nothing is opened before it is known to be a
regular file on a tmpfs, and nothing is asked of a file system that the tenant may have
mounted, as one by FUSE need never answer.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import itertools
import os
import re
import stat

from nova_rt.monitor import record
from nova_rt.monitor import system

# As nova_rt_jobs.h has it, and the folders above; a path of the container's root.
JOBS = 'run/nova-rt/jobs'
_ABOVE = ('run/nova-rt', 'run', '.')
# More than any sensible server has activities, and so few that they cost nothing.
MOST = 32
_MOUNTS_SIZE = 1 << 20
_IN_CONTAINER = (system.RESOLVE_IN_ROOT | system.RESOLVE_NO_SYMLINKS | system.RESOLVE_CACHED)
_IN_FOLDER = (system.RESOLVE_BENEATH | system.RESOLVE_NO_XDEV | system.RESOLVE_NO_SYMLINKS
              | system.RESOLVE_CACHED)


class Process:
    """A container's first process, and never another of the same number later.

    :raises ProcessLookupError: if there is none
    :ivar fd: can be read when it has ended (pidfd)
    """

    def __init__(self, pid: int) -> None:
        try:
            self._proc = os.open(f'/proc/{pid}', os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise ProcessLookupError(f'There is no process {pid}.') from None
        try:
            self.fd = os.pidfd_open(pid)
        except OSError:
            os.close(self._proc)
            raise

    def root(self) -> int:
        """Open its root, to look below only.

        :raises OSError: if it has ended
        """
        return os.open('root', os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._proc)

    def type_of_mount(self, fd: int) -> str | None:
        """Return the type of the file system that a file is on, as far as it sees that.

        fstatfs(2) would ask the file system.

        :raises OSError: if it has ended
        """
        with open(f'/proc/self/fdinfo/{fd}') as file:
            number = re.search(r'^mnt_id:\s*(\d+)$', file.read(), re.MULTILINE)
        mounts = os.open('mountinfo', os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        with open(mounts, 'rb') as file:
            text = file.read(_MOUNTS_SIZE).decode(errors='replace')
        found = number and re.search(
            rf'^{number[1]} \d+ [^\n]* - (\S+) [^\n]*$', text, re.MULTILINE)
        return found[1] if found else None

    def close(self) -> None:
        """Close its files."""
        os.close(self.fd)
        os.close(self._proc)


class Folder:
    """The folder of a container's records, or the one in which it may appear.

    It is held open, which keeps a tmpfs, but no disk of the container.

    :ivar is_there: whether it is that folder itself
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._fd: int | None = None
        self.is_there = False

    def find(self) -> None:
        """Look again where it is, as the container may have made or moved it."""
        self.close()
        with contextlib.suppress(OSError), _closing(self._process.root()) as root:
            for path in (JOBS, *_ABOVE):
                if self._open(root, path):
                    self.is_there = path == JOBS
                    return

    def _open(self, root: int, path: str) -> bool:
        """Open a folder if there is one; return whether it is to be searched above it."""
        try:
            seen = system.open_below(root, path, os.O_PATH | os.O_DIRECTORY, _IN_CONTAINER)
        except OSError:
            return False
        with _closing(seen):
            if self._process.type_of_mount(seen) == 'tmpfs':
                self._fd = os.open(f'/proc/self/fd/{seen}',
                                   os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return True

    def watch(self, inotify: system.Inotify) -> int | None:
        """Wait for one report, or for the folder to appear; return the watch's number.

        :return: None if the kernel cannot tell
        """
        if self._fd is None:
            return None
        events = system.IN_MODIFY if self.is_there else system.IN_CREATE
        try:
            return inotify.watch(self._fd, events | system.IN_MOVED_TO)
        except OSError:
            return None

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Yield what is in the folder, by name: records, and what pretends to be one."""
        if self._fd is None or not self.is_there:
            return
        for name in _names(self._fd):
            # Gone, or nothing that may be opened.
            with contextlib.suppress(OSError):
                data = _read(self._fd, name)
                if data is not None:
                    yield name, data

    def close(self) -> None:
        """Let go of it."""
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None
        self.is_there = False


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _names(folder: int) -> list[str]:
    """Return the first names in a folder; none if it cannot be read at present."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return [entry.name for entry in itertools.islice(entries, MOST)]
    return []


def _read(folder: int, name: str) -> bytes | None:
    """Return a file's content; None if it is none, or being written.

    :raises OSError: if it cannot be opened
    """
    with _closing(system.open_below(folder, name, os.O_PATH | os.O_NOFOLLOW,
                                    _IN_FOLDER)) as seen:
        # To open a device might do anything.
        if not stat.S_ISREG(os.fstat(seen).st_mode):
            return None
        # Without waiting: somebody may hold a lease.
        with _closing(os.open(f'/proc/self/fd/{seen}',
                              os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)) as fd:
            return record.consistent(lambda size, at: os.pread(fd, size, at))
