# SPDX-License-Identifier: Apache-2.0
"""What the kernel reports about the virtual machines of this machine."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
import re
import time

from nova_rt.virt.deadline.scheduler import Scheduler
from stack.service import Site
from stack.services import libvirt

_VCPU = re.compile(r'CPU \d+/(TCG|KVM)')


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


def machine(site: Site, server: str, domain: str) -> Machine:
    """Return the running virtual machine of a server.

    :param domain: the name that libvirt knows (its instance_name).
    :raises FileNotFoundError: if it does not run.
    """
    pid = (libvirt.ours(site, '/run/libvirt') / 'qemu' / f'{domain}.pid').read_text().strip()
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
    before = {machine.server: _used(machine) for machine in machines}
    time.sleep(seconds)
    shares: dict[str, dict[int, float]] = {}
    for machine in machines:
        shares[machine.server] = {
            pcpu: (used - before[machine.server][pcpu][1])
            / (now - before[machine.server][pcpu][0])
            for pcpu, (now, used) in _used(machine).items()}
    return shares


def _used(machine: Machine) -> dict[int, tuple[int, int]]:
    """Return the time now and the CPU time used by each vCPU, all in ns."""
    return {pcpu: (time.monotonic_ns(), int(
                Path(f'/proc/{thread}/schedstat').read_text().split()[0]))
            for pcpu, thread in machine.threads.items()}
