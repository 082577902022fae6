# SPDX-License-Identifier: Apache-2.0
"""The part of the control group file system that a controller is in."""

from collections.abc import Iterator
import errno
import os
import pathlib

from nova_rt.virt import procfs
from nova_rt.virt.cgroup import errors

# With which a container manages groups of its own; /sys/kernel/cgroup/delegate has
# more, none of which concerns CPUs.
_DELEGATED = frozenset({
    'cgroup.procs', 'cgroup.threads', 'cgroup.subtree_control', 'tasks'})
# ENODEV: the group was removed after its file was opened. ENAMETOOLONG: a container has
# nested its own groups deeper than a path can say.
_GONE = (errno.ENOENT, errno.ENODEV, errno.ENAMETOOLONG)


class CgroupTree:
    """Groups of a controller, read and written as files.

    Groups are named by their path below the mount point, without a leading
    slash; the root group is the empty string.

    :param root: where the controller is mounted
    :param version: 1 or 2
    :param proc: where procfs is mounted
    :param controller: the kernel's name of it
    """

    def __init__(self, root: pathlib.Path, version: int,
                 proc: pathlib.Path = pathlib.Path('/proc'), controller: str = 'cpu') -> None:
        self.root = root
        self._root = str(root)
        self.version = version
        self.proc = proc
        self._controller = controller

    @classmethod
    def find(cls, proc: pathlib.Path = pathlib.Path('/proc'), controller: str = 'cpu',
             ) -> 'CgroupTree | None':
        """Return the tree of a controller that this machine mounts, None without one.

        A version 1 mount of the controller comes before the unified hierarchy, as it
        can be in only one of them.
        """
        unified = None
        for line in (proc / 'self/mounts').read_text().splitlines():
            _, point, kind, options = line.split()[:4]
            root = pathlib.Path(point)
            if kind == 'cgroup' and controller in options.split(','):
                return cls(root, 1, proc, controller)
            if kind == 'cgroup2' and controller in (
                    root / 'cgroup.controllers').read_text().split():
                unified = cls(root, 2, proc, controller)
        return unified

    def group_of(self, pid: int) -> str:
        """Return the group of a process or thread.

        :raises ProcessLookupError: if there is no such process
        :raises MissingControlFileError: if the process was started before the
            controller was mounted
        """
        try:
            # Whoever made a group below their own chose any name without a line feed.
            lines = procfs.text(self.proc / str(pid), 'cgroup').rstrip('\n').split('\n')
        except FileNotFoundError:
            raise ProcessLookupError(f'There is no process {pid}.') from None
        for line in lines:
            _, controllers, path = line.split(':', 2)
            if (self.version == 2 and not controllers) or (
                    self.version == 1 and self._controller in controllers.split(',')):
                return path.strip('/')
        raise errors.MissingControlFileError(
            f'Process {pid} is in no group of the {self._controller} controller: mount it '
            f'before nova-rt-compute starts.')

    def exists(self, group: str) -> bool:
        """Return whether there is such a group."""
        return os.path.isdir(self._path(group))

    def has(self, group: str, name: str) -> bool:
        """Return whether a group has this control file."""
        return (self.root / group / name).exists()

    def children(self, group: str) -> Iterator[str]:
        """Yield the groups directly below a group; none if it is gone, or cannot be named."""
        try:
            with os.scandir(self._path(group)) as entries:
                names = sorted(entry.name for entry in entries if entry.is_dir())
        except OSError as exc:
            if exc.errno not in _GONE:
                raise
            return
        for name in names:
            yield f'{group}/{name}' if group else name

    def processes(self, group: str) -> list[int]:
        """Return the processes of a group; 0 for each that cannot be seen from here.

        :raises MissingControlFileError: if the group is gone
        """
        return [int(line) for line in self.read(group, 'cgroup.procs').split()]

    def read(self, group: str, name: str) -> str:
        """Return the text of a control file.

        :raises MissingControlFileError: if it is not there
        :raises KernelRefusalError: if it may not be read
        """
        try:
            with open(self._path(group, name), 'rb', buffering=0) as control:
                return control.read().decode()
        except OSError as exc:
            if exc.errno in _GONE:
                raise self._missing(group, name) from None
            raise errors.kernel_refusal(group, name, 'reading', exc.errno) from None

    def write(self, group: str, name: str, text: str) -> None:
        """Write a control file.

        :raises MissingControlFileError: if it is not there
        :raises KernelRefusalError: if the kernel does not take the value
        """
        try:
            with open(self._path(group, name), 'r+', encoding='ascii') as control:
                control.write(text)
        except OSError as exc:
            if exc.errno in _GONE:
                raise self._missing(group, name) from None
            raise errors.kernel_refusal(group, name, text, exc.errno) from None

    def own(self, group: str) -> None:
        """Take a group's limits back from a user namespace, if it has them.

        For a container in one, libvirt gives all of a group's files to the
        container's root on version 2, though the kernel's documentation ("Delegation")
        leaves the limits to whoever delegates. Those that the kernel lists as
        delegatable stay with the container.

        :raises KernelRefusalError: if this process may not
        """
        try:
            if os.stat(self._path(group)).st_uid == 0:
                return
            with os.scandir(self._path(group)) as entries:
                files = [entry for entry in entries
                         if entry.is_file() and entry.name not in _DELEGATED
                         and entry.stat().st_uid != 0]
            for entry in files:
                os.chown(entry.path, 0, 0)
        except FileNotFoundError:
            return
        except OSError as exc:
            raise errors.kernel_refusal(group, '', 'chown', exc.errno) from None

    def make(self, group: str) -> None:
        """Create a group, or take one that is there already.

        :raises KernelRefusalError: if the kernel does not allow it
        """
        try:
            (self.root / group).mkdir(exist_ok=True)
        except OSError as exc:
            raise errors.kernel_refusal(group, '', 'mkdir', exc.errno) from None

    def remove(self, group: str) -> None:
        """Remove an empty group.

        :raises KernelRefusalError: if it is not empty, or may not be removed
        """
        try:
            (self.root / group).rmdir()
        except OSError as exc:
            raise errors.kernel_refusal(group, '', 'rmdir', exc.errno) from None

    def _path(self, *parts: str) -> str:
        # Neither pathlib nor os.path.join(): a claim and a loan read the files of all
        # containers on the host, and either would take longer than the kernel.
        return '/'.join((self._root, *parts))

    def _missing(self, group: str, name: str) -> errors.MissingControlFileError:
        if self.exists(group):
            return errors.missing_file(group, name)
        return errors.missing_group(group)
