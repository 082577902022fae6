# SPDX-License-Identifier: Apache-2.0
"""The part of the control group file system that the cpu controller is in."""

from collections.abc import Iterator
import errno
import os
import pathlib
import re

from nova_rt import errors


class CgroupError(errors.NovaRTError):
    """The control groups do not take a reservation."""


class MissingControlFileError(CgroupError):
    """A control file that must be there is not; the message says what to do."""


class KernelRefusalError(CgroupError):
    """The kernel refused a reservation; the message says why and what to do.

    :ivar errno: what the kernel answered
    """

    def __init__(self, sentence: str, number: int) -> None:
        super().__init__(sentence)
        self.errno = number


# What an operator can do about each refusal (cgroup documentation and
# tg_set_rt_bandwidth() in kernel/sched/rt.c).
_ADVICE = {
    errno.EINVAL: 'the bandwidth is more than the parent group or the global '
                  'limit (kernel.sched_rt_runtime_us) has left: look which '
                  'other groups hold real-time runtime',
    errno.EBUSY: 'real-time tasks are running in the group: stop them before '
                 'their runtime is taken away',
    errno.EPERM: 'the kernel does not let this process change real-time '
                 'budgets: run nova-rt-compute as root',
    errno.EACCES: 'the file is not writable: run nova-rt-compute as root and '
                  'mount the control groups read-write',
    errno.ENOENT: 'the group has gone: its container has ended',
    errno.ENODEV: 'the group has gone: its container has ended',
    errno.EROFS: 'the control groups are mounted read-only: mount them '
                 'read-write',
    errno.ERANGE: 'the number is larger than the kernel takes',
    errno.ENOMEM: 'the kernel has no memory for it: free some',
    errno.EAGAIN: 'there may be no more groups below this one: raise '
                  'cgroup.max.descendants and cgroup.max.depth above it',
    errno.EOPNOTSUPP: 'the group is threaded, or has processes of its own: '
                      'use another one',
    errno.EMFILE: 'nova-rt-compute has too many files open: raise its limit',
    errno.ENFILE: 'the machine has too many files open: raise fs.file-max',
}
# EBUSY at a budget that is not 0 (dl_bw_manage() and tg_set_rt_bandwidth() with
# HCBS): SCHED_DEADLINE and the groups share one bandwidth.
_NO_ROOM_BESIDE = ('SCHED_DEADLINE tasks and servers have taken the bandwidth: '
                   'end them, or lower the budgets of other groups')


class CgroupTree:
    """Groups of the cpu controller, read and written as files.

    Groups are named by their path below the mount point, without a leading
    slash; the root group is the empty string.

    :param root: where the cpu controller is mounted
    :param version: 1 or 2
    :param proc: where procfs is mounted
    """

    def __init__(self, root: pathlib.Path, version: int,
                 proc: pathlib.Path = pathlib.Path('/proc')) -> None:
        self.root = root
        self.version = version
        self.proc = proc

    @classmethod
    def find(cls, proc: pathlib.Path = pathlib.Path('/proc'),
             ) -> 'CgroupTree | None':
        """Return the tree that this machine mounts, None without one.

        A version 1 mount of the cpu controller comes before the unified
        hierarchy, as the controller can be in only one of them.
        """
        unified = None
        for line in (proc / 'self/mounts').read_text().splitlines():
            _, point, kind, options = line.split()[:4]
            root = pathlib.Path(point)
            if kind == 'cgroup' and 'cpu' in options.split(','):
                return cls(root, 1, proc)
            if kind == 'cgroup2' and 'cpu' in (
                    root / 'cgroup.controllers').read_text().split():
                unified = cls(root, 2, proc)
        return unified

    def group_of(self, pid: int) -> str:
        """Return the group of a process.

        :raises ProcessLookupError: if there is no such process
        """
        try:
            lines = (self.proc / str(pid) / 'cgroup').read_text().splitlines()
        except FileNotFoundError:
            raise ProcessLookupError(f'There is no process {pid}.') from None
        for line in lines:
            _, controllers, path = line.split(':', 2)
            if (self.version == 2 and not controllers) or (
                    self.version == 1 and 'cpu' in controllers.split(',')):
                return path.strip('/')
        raise MissingControlFileError(
            f'Process {pid} is in no group of the cpu controller: mount it '
            f'before nova-rt-compute starts.')

    def exists(self, group: str) -> bool:
        """Return whether there is such a group."""
        return (self.root / group).is_dir()

    def has(self, group: str, name: str) -> bool:
        """Return whether a group has this control file."""
        return (self.root / group / name).exists()

    def children(self, group: str) -> Iterator[str]:
        """Yield the groups directly below a group; none if it is gone."""
        try:
            with os.scandir(self._path(group)) as entries:
                names = sorted(each.name for each in entries if each.is_dir())
        except FileNotFoundError:
            return
        for name in names:
            yield f'{group}/{name}' if group else name

    def read(self, group: str, name: str) -> str:
        """Return the text of a control file.

        :raises MissingControlFileError: if it is not there
        :raises KernelRefusalError: if it may not be read
        """
        try:
            with open(self._path(group, name), 'rb', buffering=0) as control:
                return control.read().decode()
        except OSError as error:
            # ENODEV: the group was removed after its file was opened.
            if error.errno not in (errno.ENOENT, errno.ENODEV):
                raise self.refused(group, name, 'reading',
                                   error.errno) from None
            raise self._missing(group, name) from None

    def write(self, group: str, name: str, text: str) -> None:
        """Write a control file.

        :raises MissingControlFileError: if it is not there
        :raises KernelRefusalError: if the kernel does not take the value
        """
        path = self._path(group, name)
        try:
            with open(path, 'r+', encoding='ascii') as control:
                control.write(text)
        except FileNotFoundError:
            raise self._missing(group, name) from None
        except OSError as refusal:
            raise self.refused(group, name, text, refusal.errno) from None

    def make(self, group: str) -> None:
        """Create a group, or take one that is there already.

        :raises KernelRefusalError: if the kernel does not allow it
        """
        try:
            (self.root / group).mkdir(exist_ok=True)
        except OSError as refusal:
            raise self.refused('', group, 'mkdir', refusal.errno) from None

    def remove(self, group: str) -> None:
        """Remove an empty group.

        :raises KernelRefusalError: if it is not empty, or may not be removed
        """
        try:
            (self.root / group).rmdir()
        except OSError as refusal:
            raise self.refused('', group, 'rmdir', refusal.errno) from None

    def refused(self, group: str, name: str, text: str,
                number: int | None) -> KernelRefusalError:
        """Return the kernel's answer as an exception with a sentence."""
        number = number or 0
        advice = _ADVICE.get(number, 'see the kernel log')
        if number == errno.EBUSY and re.search('[1-9]', text):
            advice = _NO_ROOM_BESIDE
        return KernelRefusalError(
            f'The kernel refused {text.strip()} in /{os.path.join(group, name)} '
            f'({errno.errorcode.get(number, number)}): {advice}.', number)

    def _path(self, *parts: str) -> str:
        # Not pathlib: a claim reads the files of all containers on the host,
        # and pathlib would take longer than the kernel.
        return os.path.join(self.root, *parts)

    def _missing(self, group: str, name: str) -> MissingControlFileError:
        if not self.exists(group):
            return MissingControlFileError(
                f'The control group /{group} has gone: its container has '
                'ended.')
        return MissingControlFileError(
            f'The control group /{group} has no file {name}: the kernel has '
            'no real-time control groups there, or real-time tasks outside '
            'kept the cpu controller from being turned on; see nova-rt\'s '
            'operator guide.')
