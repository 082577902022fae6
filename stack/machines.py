# SPDX-License-Identifier: Apache-2.0
"""What the kernel reports about the virtual machines of this machine."""

from collections.abc import Iterator
import contextlib
from pathlib import Path
import random
import signal

from nova_rt.virt.deadline.attributes import SCHED_DEADLINE
from nova_rt.virt.deadline.scheduler import Scheduler
from stack.processes import command_line
from stack.processes import send
from stack.service import Site
from stack.services import libvirt
from stack.vcpus import Machine
from stack.vcpus import of_qemu


def machine(site: Site, server: str, domain: str, number: int = 1) -> Machine:
    """Return the running virtual machine of a server.

    :param domain: the name that libvirt knows (its instance_name).
    :param number: of the host.
    :raises FileNotFoundError: if it does not run.
    """
    pid = (libvirt.ours(site, '/run/libvirt', number) / 'qemu' / f'{domain}.pid'
           ).read_text().strip()
    return of_qemu(server, int(pid))


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
