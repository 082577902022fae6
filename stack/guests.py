# SPDX-License-Identifier: Apache-2.0
"""End the containers of a stack when it goes down."""

from pathlib import Path
import signal
import subprocess
import time

from stack import host
from stack.processes import command_line
from stack.processes import send
from stack.service import Site
from stack.services import libvirt

PATIENCE = 5.0  # seconds that killed processes have to end


def end_all(site: Site) -> None:
    """End every server: by libvirt, or by force if libvirt is gone."""
    for number in site.numbers:
        if site.processes.alive(libvirt.of_host('libvirtd', number)):
            for domain in virsh(site, number, 'list', '--name').split():
                virsh(site, number, 'destroy', domain)
    deadline = time.monotonic() + PATIENCE
    while (left := _left(site.rundir.data)) and time.monotonic() < deadline:
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(0.1)


def virsh(site: Site, number: int, *command: str) -> str:
    """Run virsh on a host and return what it prints, nothing if it fails.

    end_all() then uses force.
    """
    uri = 'qemu:///system' if site.runs_machines else 'lxc:///'
    try:
        return subprocess.run(
            libvirt.inside(site, 'virsh', '-c', uri, *command, number=number),
            capture_output=True, text=True, timeout=20).stdout
    except subprocess.TimeoutExpired:
        return ''


def _left(data: Path) -> list[int]:
    """Return the processes that hold our containers, and those in them.

    libvirt clears their environment, so they do not carry our mark. It writes
    the controllers' pids to its run directory, which is ours, and names the
    containers' groups after them. Killing only a controller leaves the
    container's processes behind.
    """
    files = data.glob('libvirt*/run-libvirt/lxc/*.pid')
    controllers = [int(path.read_text().strip() or 0) for path in files]
    machines = [int(path.read_text().strip() or 0)
                for path in data.glob('libvirt*/run-libvirt/qemu/*.pid')]
    return [*filter(_holds_a_container, controllers), *filter(_is_qemu, machines),
            *(pid for controller in controllers if controller
              for pid in _in_groups(f'lxc-{controller}-*'))]


def _holds_a_container(pid: int) -> bool:
    """Whether the process is still the one that libvirt started."""
    return 'libvirt_lxc' in ''.join(command_line(pid)[:1])


def _is_qemu(pid: int) -> bool:
    return 'qemu-system' in ''.join(command_line(pid)[:1])


def _in_groups(name: str) -> set[int]:
    """Return the processes in the containers' groups that match a pattern."""
    return {
        int(pid) for top in host.machine_groups() for group in top.glob(name)
        for path in group.rglob('cgroup.procs')
        for pid in path.read_text().split()}
