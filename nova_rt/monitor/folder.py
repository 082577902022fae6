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

    def type_of(self, mount: int) -> str | None:
        """Return the type of the file system of a mount that it sees.

        fstatfs(2) would ask the file system.

        :raises OSError: if it has ended
        """
        mounts = os.open('mountinfo', os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        with open(mounts, 'rb') as file:
            return type_in(file.read(_MOUNTS_SIZE), mount)

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
        self._mount: int | None = None
        self.is_there = False

    def find(self) -> None:
        """Look again where it is, as the container may have made or moved it."""
        with contextlib.suppress(OSError), _closing(self._process.root()) as root:
            for path in (JOBS, *_ABOVE):
                with contextlib.suppress(FileNotFoundError), _closing(_seen(root, path)) as seen:
                    self._take(seen)
                    self.is_there = path == JOBS and self._fd is not None
                    return
        self.close()

    def _take(self, seen: int) -> None:
        """Hold a folder open if it is on a tmpfs.

        :raises OSError: if that is not possible
        """
        mount = _mount_of(seen)
        # While a folder is held open, its mount keeps its number, and may be asked.
        if self._fd is not None and mount == self._mount and os.path.samestat(
                os.fstat(seen), os.fstat(self._fd)):
            return
        self.close()
        if self._process.type_of(mount) == 'tmpfs':
            self._fd = os.open(f'/proc/self/fd/{seen}',
                               os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._mount = mount

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
            try:
                data = _read(self._fd, name)
            except OSError:
                continue  # Gone, or nothing that may be opened.
            if data is not None:
                yield name, data

    def close(self) -> None:
        """Let go of it."""
        if self._fd is not None:
            os.close(self._fd)
        self._fd = self._mount = None
        self.is_there = False


def type_in(mounts: bytes, mount: int) -> str | None:
    """Return the type of a mount in a list as of ``/proc/PID/mountinfo``.

    The names in it are the tenant's: the kernel escapes spaces and line feeds, but neither
    carriage returns, at which splitlines() would split as well, nor what is no UTF-8.
    """
    for line in mounts.split(b'\n'):
        if line.startswith(b'%d ' % mount):
            return line.partition(b' - ')[2].split(b' ')[0].decode(errors='replace')
    return None


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _seen(root: int, path: str) -> int:
    """Open a folder of a container, without asking its file system anything.

    :raises FileNotFoundError: if it has none, or the path is none that is followed
    """
    try:
        return system.open_below(root, path, os.O_PATH | os.O_DIRECTORY, _IN_CONTAINER)
    except OSError as exc:
        raise FileNotFoundError(exc.errno, exc.strerror, path) from None


def _mount_of(fd: int) -> int:
    """Return the number of the mount that a file is on."""
    with open(f'/proc/self/fdinfo/{fd}') as file:
        for line in file:
            if line.startswith('mnt_id:'):
                return int(line.partition(':')[2])
    raise FileNotFoundError('The kernel does not tell the mount of a file.')


def _names(folder: int) -> list[str]:
    """Return the first names in a folder; none if it cannot be read at present."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in itertools.islice(entries, MOST)]
    except OSError:
        return []


def _read(folder: int, name: str) -> bytes | None:
    """Return a file's content; None if it is none, or being written.

    :raises OSError: if it cannot be opened
    """
    seen = system.open_below(folder, name, os.O_PATH | os.O_NOFOLLOW, _IN_FOLDER)
    try:
        # To open a device might do anything.
        if not stat.S_ISREG(os.fstat(seen).st_mode):
            return None
        # Without waiting: somebody may hold a lease.
        fd = os.open(f'/proc/self/fd/{seen}', os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(seen)
    try:
        return record.consistent(lambda size, at: os.pread(fd, size, at))
    finally:
        os.close(fd)
