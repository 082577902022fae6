# SPDX-License-Identifier: Apache-2.0
"""Asks the kernel how a thread is scheduled, and sets it.

Python has sched_setscheduler() and sched_setaffinity(), but no sched_setattr(),
and glibc has it only since 2.41: it is called by its number.
"""

from collections.abc import Iterator
import contextlib
import ctypes
import dataclasses
import errno
import os
import pathlib
import platform
import re
import struct
import subprocess

from nova_rt.virt import procfs
from nova_rt.virt.cgroup import limits
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline.attributes import Attributes
from nova_rt.virt.deadline.attributes import SCHED_DEADLINE

# sched_setattr() and sched_getattr(), by machine (each one's syscall table).
_NUMBERS = {
    'x86_64': (314, 315),
    'aarch64': (274, 275),
    'riscv64': (274, 275),
    'ppc64le': (355, 356),
    's390x': (345, 346),
}
# SCHED_ATTR_SIZE_VER0: size, policy, flags, nice, priority, runtime, deadline, period.
_STRUCT = struct.Struct('=IIQiIQQQ')
_CAP_SYS_NICE = 23


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """What a thread under SCHED_DEADLINE has until its deadline.

    :ivar left_ns: in nanoseconds; 0 or less while it waits for the next period
    :ivar deadline_ns: by the clock of its pCPU
    """

    left_ns: int
    deadline_ns: int


class Scheduler:
    """The kernel's scheduler.

    :param proc: where procfs is
    :raises UnsupportedError: on an architecture whose call numbers are not known
    """

    def __init__(self, proc: pathlib.Path = procfs.PROC) -> None:
        self.proc = proc
        try:
            self._set, self._get = _NUMBERS[platform.machine()]
        except KeyError:
            raise errors.UnsupportedError(
                f'nova-rt does not know how to ask for SCHED_DEADLINE on '
                f'{platform.machine()}: use one of {", ".join(sorted(_NUMBERS))}.',
            ) from None
        self._libc = ctypes.CDLL(None, use_errno=True)

    def read(self, thread: int) -> Attributes:
        """Return how a thread is scheduled.

        :raises ProcessLookupError: if it has ended
        :raises RefusalError: if the kernel does not say
        """
        buffer = ctypes.create_string_buffer(_STRUCT.size)
        self._call(thread, 'to be read', self._get, thread, buffer, _STRUCT.size, 0)
        _, policy, flags, nice, priority, *times = _STRUCT.unpack(buffer.raw)
        if policy != SCHED_DEADLINE:
            # The slice of a normal thread, which is to stay the kernel's choice.
            times = [0, 0, 0]
        return Attributes(policy, flags, nice, priority, *times)

    def write(self, thread: int, wanted: Attributes) -> None:
        """Set how a thread is scheduled.

        :raises ProcessLookupError: if it has ended
        :raises RefusalError: if the kernel refuses; the thread is as it was
        """
        buffer = ctypes.create_string_buffer(_STRUCT.pack(
            _STRUCT.size, wanted.policy, wanted.flags, wanted.nice, wanted.priority,
            wanted.runtime_ns, wanted.deadline_ns, wanted.period_ns))
        self._call(thread, str(wanted), self._set, thread, buffer, 0)

    def affinity(self, thread: int) -> frozenset[int]:
        """Return the pCPUs that a thread may run on.

        :raises ProcessLookupError: if it has ended
        """
        try:
            return frozenset(os.sched_getaffinity(thread))
        except ProcessLookupError:
            raise errors.ended(thread) from None

    def pin(self, thread: int, pcpu: int) -> None:
        """Let a thread run on one pCPU only.

        :raises ProcessLookupError: if it has ended
        :raises RefusalError: if the kernel refuses
        """
        self.set_affinity(thread, frozenset({pcpu}))

    def set_affinity(self, thread: int, pcpus: frozenset[int]) -> None:
        """Let a thread run on these pCPUs only; see :meth:`pin`.

        One whose pCPUs are all offline has none, which cannot be set: it keeps what it has.
        """
        if not pcpus:
            return
        try:
            os.sched_setaffinity(thread, pcpus)
        except ProcessLookupError:
            raise errors.ended(thread) from None
        except OSError as exc:
            raise errors.pin_refusal(
                thread, min(pcpus), exc.errno, self._is_capable()) from None

    def is_limited(self) -> bool:
        """Return whether the kernel admits threads itself, by root domain."""
        return not limits.is_unlimited(self.proc)

    def name(self, thread: int) -> str:
        """Return the name of a thread.

        :raises ProcessLookupError: if it has ended
        """
        return self._told(thread, 'comm').rstrip('\n')

    def state(self, thread: int) -> str:
        """Return the letter of a thread's state: ``R`` if it runs, or waits to.

        :raises ProcessLookupError: if it has ended
        """
        with _until_it_ends(thread):
            return procfs.state_and_parent(self.proc / str(thread))[0]

    def budget(self, thread: int) -> Budget | None:
        """Return what a thread has until its deadline, None if the kernel does not tell.

        :raises ProcessLookupError: if it has ended
        """
        if not (self.proc / 'self/sched').exists():
            return None
        # After the name of the thread, which may pretend to be any of these.
        found = dict(re.findall(r'^(dl\.\w+) *: *(-?\d+)$', self._told(thread, 'sched'), re.M))
        try:
            return Budget(int(found['dl.runtime']), int(found['dl.deadline']))
        except KeyError:
            return None

    def _told(self, thread: int, name: str) -> str:
        """Return a file of a thread's in procfs.

        :raises ProcessLookupError: if it has ended
        """
        with _until_it_ends(thread):
            return procfs.text(self.proc / str(thread), name)

    @contextlib.contextmanager
    def sleeper(self) -> Iterator[int]:
        """Run a thread that does nothing, to try out what the kernel admits; yield its id.

        A process of its own, as Nova may have replaced threads.
        """
        process = subprocess.Popen(['/bin/sleep', '60'])
        try:
            yield process.pid
        finally:
            process.kill()
            process.wait()

    def _call(self, thread: int, action: str, number: int, *arguments: object) -> None:
        if self._libc.syscall(ctypes.c_long(number), *arguments) == 0:
            return
        code = ctypes.get_errno()
        if code == errno.ESRCH:
            raise errors.ended(thread)
        raise errors.refusal(thread, action, code, self._is_capable())

    def _is_capable(self) -> bool:
        """Return whether this process has CAP_SYS_NICE."""
        for line in (self.proc / 'self/status').read_text().splitlines():
            if line.startswith('CapEff:'):
                return bool(int(line.split()[1], 16) >> _CAP_SYS_NICE & 1)
        return True


@contextlib.contextmanager
def _until_it_ends(thread: int) -> Iterator[None]:
    """Have a thread that procfs no longer knows be one that has ended."""
    try:
        yield
    except (FileNotFoundError, ProcessLookupError):
        raise errors.ended(thread) from None
