# SPDX-License-Identifier: Apache-2.0
"""The containers of one stack, ended when it goes down."""

from pathlib import Path
import signal
import subprocess
import time

from stack import procfs
from stack.processes import send
from stack.service import Site
from stack.services import libvirt


def end_all(site: Site) -> None:
    """End every container: by libvirt, and by force if that is gone."""
    if site.processes.alive('libvirtd'):
        for domain in _virsh(site, 'list', '--name').split():
            _virsh(site, 'destroy', domain)
    deadline = time.monotonic() + 5
    while _controllers(site.rundir.data) and time.monotonic() < deadline:
        for pid in _controllers(site.rundir.data):
            send(pid, signal.SIGKILL)
        time.sleep(0.1)


def _virsh(site: Site, *command: str) -> str:
    """Run virsh beside libvirtd; what fails is left to the force that follows."""
    try:
        return subprocess.run(
            libvirt.inside(site, 'virsh', '-c', 'lxc:///', *command),
            capture_output=True, text=True, timeout=20).stdout
    except subprocess.TimeoutExpired:
        return ''


def _controllers(data: Path) -> list[int]:
    """Return the processes that hold our containers.

    libvirt clears their environment, so they do not carry our mark; it
    writes their pids below its run directory, which is ours.
    """
    files = (data / 'libvirt' / 'run-libvirt' / 'lxc').glob('*.pid')
    pids = [int(path.read_text().strip() or 0) for path in files]
    return [
        pid for pid in pids
        if pid and procfs.stat(pid)
        and procfs.command(pid)[:1] and 'libvirt_lxc' in procfs.command(pid)[0]
    ]
