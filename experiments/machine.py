# SPDX-License-Identifier: Apache-2.0
"""A virtual machine whose vCPUs have reservations, on this machine's own kernel.

Unlike :mod:`experiments.guest` it runs in wall-clock time, by QEMU's emulation, with a
thread for each vCPU. Its kernel is Debian's own; commands come by a serial line.

QEMU emulates the timers of vCPUs in threads of its own, where KVM has the host's. So these
threads have a reservation, too: else tasks of the guest would be released when the host has
time for QEMU.
"""

from collections.abc import Sequence
import contextlib
from pathlib import Path
import re
import subprocess
import threading
import time
from typing import cast
from typing import IO

from experiments import cloud_kernel
from experiments import guest
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import scheduler
from nova_rt.virt.deadline import threads
from stack import vcpus

# Of each of QEMU's other threads. The period is shorter than those of vCPUs, so that they
# go first; the runtime is at least a tick, which may be what ends a turn.
EMULATOR = reservation.Reservation(4000, 20_000, 1)
EMULATOR_PCPU = 1
# The whole of a pCPU, and half of one. With a period as short, the kernel's server of normal
# tasks, whose deadlines are later, has to wait.
WHOLE = reservation.Reservation(2000, 2000, 1)
HALF = reservation.Reservation(1000, 2000, 1)
_PATIENCE_S = 120
_SHELL = """\
exec 3<>/dev/ttyS1
stty raw -echo <&3
echo 'END 0' >&3
while read -r line <&3; do
    sh -c "$line" >&3 2>&1 </dev/null && echo 'END 0' >&3 || echo 'END 1' >&3
done
"""


def initrd(work: Path) -> Path:
    """Make what virtual machines boot from, in a folder of its own."""
    guest.initrd(work, _SHELL)
    return work / 'initrd'


class Machine:
    """A virtual machine, while the context lasts.

    It boots with the whole of the first pCPU.

    :param initrd: that :func:`initrd` has made; the console is written beside it
    :raises guest.GuestError: if it does not start, or a command fails
    """

    def __init__(self, name: str, initrd: Path, vcpus: int) -> None:
        self.name, self.vcpus = name, range(vcpus)
        self._initrd = initrd
        self._scheduler = scheduler.Scheduler()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> 'Machine':
        self._process = self._stack.enter_context(subprocess.Popen(
            self._command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT))
        self._stack.callback(self._process.kill)
        try:
            self._threads, self._others = self._started()
            self.reserve_whole()
            self.receive()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _command(self) -> list[str]:
        return [
            'qemu-system-x86_64', '-name', f'guest={self.name},debug-threads=on',
            '-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', 'max',
            '-smp', str(len(self.vcpus)), '-m', '256', '-display', 'none', '-no-reboot',
            '-nodefaults', '-serial', f'file:{self._initrd.with_name(self.name)}',
            '-serial', 'stdio',
            '-kernel', str(cloud_kernel.image()), '-initrd', str(self._initrd),
            # The host's clock, which goes on while a vCPU waits, is the guest's.
            '-append', 'console=ttyS0 quiet panic=-1 tsc=reliable mitigations=off']

    def _started(self) -> tuple[list[int], list[int]]:
        """Wait for the threads of the vCPUs; return them in order, and QEMU's others."""
        end = time.monotonic() + _PATIENCE_S
        while True:
            vcpus, others = self._threads_now()
            if len(vcpus) == len(self.vcpus):
                return [vcpus[number] for number in sorted(vcpus)], others
            if self._process.poll() is not None or time.monotonic() > end:
                raise guest.GuestError(f'QEMU does not start {self.name}.')
            time.sleep(0.02)

    def _threads_now(self) -> tuple[dict[int, int], list[int]]:
        vcpus, others = {}, []
        for task in Path(f'/proc/{self._process.pid}/task').iterdir():
            found = re.fullmatch(r'CPU (\d+)/TCG', self._scheduler.name(int(task.name)))
            if found:
                vcpus[int(found[1])] = int(task.name)
            else:
                others.append(int(task.name))
        return vcpus, others

    def reserve_whole(self) -> None:
        """Give the first vCPU a pCPU, and others half of theirs: someone must watch.

        :raises errors.RefusalError: if the kernel refuses
        """
        self._apply([
            setting for vcpu, thread in enumerate(self._threads)
            for setting in self._wanted([thread], HALF if vcpu else WHOLE, (vcpu,))])

    def reserve(self, wanted: reservation.Reservation, pcpus: Sequence[int]) -> None:
        """Give the vCPUs a reservation.

        :raises errors.RefusalError: if the kernel refuses
        """
        self._apply(self._wanted(self._threads, wanted, pcpus))

    def _wanted(self, of_vcpus: Sequence[int], wanted: reservation.Reservation,
                pcpus: Sequence[int]) -> Sequence[threads.Setting]:
        return threads.wanted(threads.present(self._scheduler, of_vcpus),
                              ledger.Holding(wanted, tuple(pcpus)))

    def _apply(self, settings: Sequence[threads.Setting]) -> None:
        emulator = attributes.of_reservation(EMULATOR)
        threads.apply(self._scheduler, [
            *(threads.Setting(thread, frozenset({EMULATOR_PCPU}), emulator)
              for thread in self._others), *settings])

    def scheduled(self, pcpus: Sequence[int]) -> vcpus.Machine:
        """Return the vCPUs as the kernel schedules them, each on its pCPU."""
        return vcpus.Machine(self.name, {}, dict(zip(pcpus, self._threads, strict=True)))

    def run(self, command: str) -> str:
        """Return what a command in the guest prints."""
        self.send(command)
        return self.receive()

    def send(self, command: str) -> None:
        """Let a command begin."""
        written = cast('IO[bytes]', self._process.stdin)
        written.write(f'{command}\n'.encode())
        written.flush()

    def receive(self) -> str:
        """Wait for the end of the command that has begun; return what it printed."""
        text: list[str] = []
        killer = threading.Timer(_PATIENCE_S, self._process.kill)
        killer.start()
        try:
            for line in cast('IO[bytes]', self._process.stdout):
                text.append(line.decode(errors='replace').strip())
                if text[-1].startswith('END '):
                    break
            else:
                raise guest.GuestError(f'The virtual machine {self.name} ended, or stood still '
                                       f'for {_PATIENCE_S} s: {" / ".join(text[-5:])}')
        finally:
            killer.cancel()
        if text.pop() != 'END 0':
            raise guest.GuestError(
                f'A command in {self.name} failed: {" / ".join(text[-5:])}')
        return '\n'.join(text)
