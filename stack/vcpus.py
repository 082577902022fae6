# SPDX-License-Identifier: Apache-2.0
"""The vCPUs of a virtual machine, as the kernel schedules their threads.

It is also copied to nodes, where only Python and nova-rt are beside it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
import re
import time

from nova_rt.virt.deadline.scheduler import Scheduler

_VCPU = re.compile(r'CPU \d+/(TCG|KVM)')
_READINGS = 3
# More than firmware lets any vCPU but the first run.
BOOTED_NS = 100_000_000


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


def of_qemu(server: str, pid: int) -> Machine:
    """Return the virtual machine that a process of QEMU runs.

    :param server: the server's name.
    :raises FileNotFoundError: if there is no such process.
    """
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


def all_burn(threads: Iterable[int]) -> bool:
    """Whether the guests of these vCPUs are done with their firmware, and burn CPU."""
    return all(_used_by(thread)[1] > BOOTED_NS for thread in threads)


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
