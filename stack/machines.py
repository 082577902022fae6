# SPDX-License-Identifier: Apache-2.0
"""What the kernel reports about the virtual machines of this machine."""

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
from dataclasses import dataclass
from pathlib import Path
import random
import re
import signal
import time

from nova_rt.virt.deadline.attributes import SCHED_DEADLINE
from nova_rt.virt.deadline.scheduler import Scheduler
from stack.processes import command_line
from stack.processes import send
from stack.service import Site
from stack.services import libvirt

_VCPU = re.compile(r'CPU \d+/(TCG|KVM)')
_READINGS = 3


@dataclass(frozen=True)
class Machine:
    """A server's virtual machine, as the kernel schedules its vCPUs.

    :ivar server: the server's name.
    :ivar shares: bandwidth reserved by pCPU, as fractions.
    :ivar threads: the vCPUs' threads, by pCPU.
    """

    server: str
    shares: dict[int, float]
    threads: dict[int, int]


def machine(site: Site, server: str, domain: str, number: int = 1) -> Machine:
    """Return the running virtual machine of a server.

    :param domain: the name that libvirt knows (its instance_name).
    :param number: of the host.
    :raises FileNotFoundError: if it does not run.
    """
    pid = (libvirt.ours(site, '/run/libvirt', number) / 'qemu' / f'{domain}.pid'
           ).read_text().strip()
    kernel = Scheduler()
    shares, threads = {}, {}
    for task in Path(f'/proc/{pid}/task').iterdir():
        if not _VCPU.fullmatch((task / 'comm').read_text().strip()):
            continue
        thread = int(task.name)
        for pcpu in kernel.affinity(thread):
            has = kernel.read(thread)
            shares[pcpu] = has.runtime_ns / has.period_ns if has.period_ns else 0.0
            threads[pcpu] = thread
    return Machine(server, dict(sorted(shares.items())), threads)


def reserved_threads(site: Site) -> list[int]:
    """Return the threads of this stack's virtual machines under SCHED_DEADLINE."""
    kernel = Scheduler()
    threads = []
    for pid in _running(site):
        for task in Path(f'/proc/{pid}/task').glob('*'):
            with contextlib.suppress(ProcessLookupError):
                if kernel.read(int(task.name)).policy == SCHED_DEADLINE:
                    threads.append(int(task.name))
    return threads


def policies_besides(machine: Machine) -> set[int]:
    """Return the policies of the threads of a virtual machine's QEMU that run no vCPU."""
    kernel = Scheduler()
    policies = set()
    for task in Path(f'/proc/{next(iter(machine.threads.values()))}/task').glob('*'):
        if int(task.name) not in machine.threads.values():
            with contextlib.suppress(ProcessLookupError):
                policies.add(kernel.read(int(task.name)).policy)
    return policies


def kill(site: Site, machine: Machine) -> None:
    """Kill the QEMU of a virtual machine."""
    thread = next(iter(machine.threads.values()))
    for pid in _running(site):
        if Path(f'/proc/{pid}/task/{thread}').exists():
            send(pid, signal.SIGKILL)


def kill_one(site: Site, chance: random.Random) -> str | None:
    """Kill any QEMU of this stack; return a name for it, None if none runs."""
    running = sorted(_running(site))
    if not running:
        return None
    pid = chance.choice(running)
    send(pid, signal.SIGKILL)
    return f'QEMU {pid}'


def _running(site: Site) -> Iterator[int]:
    """Yield the QEMUs of this stack, which libvirt may have lost track of."""
    names = str(site.rundir.data)
    for path in Path('/proc').glob('[0-9]*'):
        command = command_line(int(path.name))
        if command and 'qemu-system' in command[0] and any(names in part for part in command):
            yield int(path.name)


def measure(machines: Iterable[Machine], seconds: float) -> dict[str, dict[int, float]]:
    """Measure for some seconds which share of its pCPU each vCPU got.

    The source is the kernel's accounting of the vCPUs' threads (schedstat, in ns).

    :returns: by server and pCPU, as fractions.
    """
    machines = list(machines)
    before = {machine.server: used(machine) for machine in machines}
    time.sleep(seconds)
    shares: dict[str, dict[int, float]] = {}
    for machine in machines:
        shares[machine.server] = {
            pcpu: (has - before[machine.server][pcpu][1])
            / (now - before[machine.server][pcpu][0])
            for pcpu, (now, has) in used(machine).items()}
    return shares


def used(machine: Machine) -> dict[int, tuple[int, int]]:
    """Return the time now and the CPU time used, in ns, of each vCPU by its pCPU."""
    return {pcpu: _used_by(thread) for pcpu, thread in machine.threads.items()}


def _used_by(thread: int) -> tuple[int, int]:
    """Return the time and a thread's CPU time at that time.

    Of some readings the quickest counts: in others, this process may have lost its pCPU
    between the two.
    """
    readings = []
    for _ in range(_READINGS):
        began = time.monotonic_ns()
        used = int(Path(f'/proc/{thread}/schedstat').read_text().split()[0])
        readings.append((time.monotonic_ns() - began, began, used))
    _, began, used = min(readings)
    return began, used
