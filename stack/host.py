# SPDX-License-Identifier: Apache-2.0
"""What the stack needs on the machine, changes there and gives back."""

from collections.abc import Callable
from collections.abc import Iterable
import contextlib
import json
import os
from pathlib import Path
import shutil
import subprocess
import time
from typing import Any

from stack import devices
from stack import own_groups
from stack.errors import StackError
from stack.rundir import RunDir

CGROUPS = own_groups.CGROUPS
UNIFIED = CGROUPS / 'unified'

# Command: its Debian package.
CONTROL_COMMANDS = {
    '/usr/sbin/mariadbd': 'mariadb-server-core',
    '/usr/lib/rabbitmq/bin/rabbitmq-server': 'rabbitmq-server',
    'uwsgi-core': 'uwsgi-core uwsgi-plugin-python3',
    'qemu-img': 'qemu-utils',
    'busybox': 'busybox-static',
    'mkfs.ext4': 'e2fsprogs',
    'losetup': 'mount',
    'gcc': 'gcc',
}
COMPUTE_COMMANDS = {
    '/usr/sbin/libvirtd': 'libvirt-daemon',
    'virsh': 'libvirt-clients',
}
MACHINE_COMMANDS = {
    'qemu-system-x86_64': 'qemu-system-x86',
    'ld': 'binutils',
}
NODE_COMMANDS = {
    'qemu-system-x86_64': 'qemu-system-x86',
    'ssh': 'openssh-client',
}
MORE_COMMANDS = {'network': {
    'ovs-vswitchd': 'openvswitch-switch',
    'dnsmasq': 'dnsmasq-base',
    'ip': 'iproute2',
}}
# Neutron's bridge has this name on every host.
BRIDGE = Path('/sys/class/net/br-int')
MOUNTS = Path('/proc/self/mountinfo')


def check(more: Iterable[str] = (), nodes: bool = False, machines: bool = False) -> None:
    """Check that the stack can run here.

    :param more: additions to the stack, see ``stack.services.MORE``.
    :param nodes: whether its compute nodes are virtual machines.
    :param machines: whether its servers are virtual machines on this machine.
    :raises StackError: if something is missing.
    """
    if os.geteuid() != 0:
        raise StackError(
            'The stack starts containers, mounts and control groups: run it '
            'as root.')
    commands = CONTROL_COMMANDS | (NODE_COMMANDS if nodes else COMPUTE_COMMANDS)
    if machines:
        commands |= MACHINE_COMMANDS
    for name in more:
        commands |= MORE_COMMANDS.get(name, {})
    missing = {
        package for command, package in commands.items()
        if shutil.which(command) is None}
    driver = 'qemu' if machines else 'lxc'
    if not nodes and not libvirt_driver(driver):
        missing.add(f'libvirt-daemon-driver-{driver}')
    if missing:
        raise StackError(
            f'Debian packages are missing: {" ".join(sorted(missing))}; '
            'install them with apt-get, or use "make demo", which does.')
    if 'network' in more and BRIDGE.exists():
        raise StackError(
            f'This machine has a bridge {BRIDGE.name} already, a name that the stack needs: '
            'stop the switch that uses it, or run "ip link delete" for one that a killed '
            'stack left.')
    if nodes:
        return
    if not root_is_mount_point():
        raise StackError(
            'This is a chroot into a folder that is no mount point, where no private '
            'mount namespace can be made: run "mount --bind FOLDER FOLDER" outside first.')
    busy = [str(path) for path in machine_groups() if _has_processes(path)]
    if busy:
        raise StackError(
            f'Another libvirt on this machine runs containers in {busy[0]}: '
            'stop them first, because the stack needs these groups.')


def libvirt_driver(name: str) -> Path | None:
    """Return the file of one of libvirt's drivers, None if it is missing."""
    drivers = Path('/usr/lib').glob(
        f'*/libvirt/connection-driver/libvirt_driver_{name}.so')
    return next(drivers, None)


def has_hybrid_cgroups() -> bool:
    """Whether cgroup v2 is mounted beside the controllers of cgroup v1."""
    return os.path.ismount(UNIFIED)


def root_is_mount_point() -> bool:
    """Whether this process's root is one, as all are but those of a plain chroot."""
    return any(line.split()[4] == '/' for line in MOUNTS.read_text().splitlines())


def machine_groups() -> list[Path]:
    """Return libvirt's top groups, one for each controller of cgroup v1."""
    return sorted(CGROUPS.glob('*/machine'))


def remember(rundir: RunDir) -> None:
    """Record the state of libvirt's groups before the stack starts."""
    rundir.write_json(rundir.data / 'machine-groups.json', {
        str(path): _runtime(path) for path in machine_groups()})


def make_mount_points(rundir: RunDir, paths: Iterable[str]) -> None:
    """Create missing directories, and record which."""
    missing = []
    for path in paths:
        step = Path(path)
        while not step.exists():
            missing.append(str(step))
            step = step.parent
    rundir.write_json(rundir.data / 'mount-points.json', missing)
    for path in paths:
        Path(path).mkdir(parents=True, exist_ok=True)


def make_groups(rundir: RunDir, name: str) -> list[Path]:
    """Make a control group of this name in every hierarchy, and record them."""
    groups = own_groups.make(name)
    rundir.write_json(rundir.data / 'own-groups.json', [*map(str, groups)])
    return groups


def give_back(rundir: RunDir) -> list[str]:
    """Give back loop devices, network devices, control groups, mount points.

    :returns: what could not be given back, one sentence per item.
    """
    problems = _free_loop_devices(rundir)
    problems += devices.remove(rundir.data / 'openvswitch' / 'conf.db')
    before = _recorded(rundir, 'machine-groups.json', None)
    if before is not None:
        problems += _restore_groups(before)
    problems += own_groups.remove(map(Path, _recorded(rundir, 'own-groups.json', [])))
    for path in _recorded(rundir, 'mount-points.json', []):
        with contextlib.suppress(OSError):
            Path(path).rmdir()
    return problems


def _recorded(rundir: RunDir, name: str, default: Any) -> Any:
    path = rundir.data / name
    return json.loads(path.read_text()) if path.exists() else default


def _free_loop_devices(rundir: RunDir) -> list[str]:
    # A user, whose stack has none, may not have it in the path.
    losetup = shutil.which('losetup')
    if losetup is None:
        return []
    listed = json.loads(subprocess.run(
        (losetup, '--list', '--json'), capture_output=True, text=True,
    ).stdout or '{"loopdevices": []}')['loopdevices']
    problems = []
    for device in listed:
        backing = (device['back-file'] or '').removesuffix(' (deleted)')
        if not Path(backing).is_relative_to(rundir.path):
            continue
        done = subprocess.run(
            (losetup, '--detach', device['name']), capture_output=True)
        if done.returncode:
            problems.append(f'{device["name"]} still holds {backing}.')
    return problems


def _restore_groups(before: dict[str, int | None]) -> list[str]:
    """Remove new groups and restore the runtime of the others."""
    problems = []
    for top in machine_groups():
        if str(top) not in before:
            for group in [*_below(top), top]:
                problems += _retry(_remove, group)
        else:
            problems += _retry(_set_runtime, top, before[str(top)])
    return problems


def _retry(
    action: Callable[..., None], group: Path, *more: int | None,
) -> list[str]:
    """Retry for 5 s: the kernel frees a group's tasks with a delay."""
    deadline = time.monotonic() + 5
    while True:
        try:
            action(group, *more)
            return []
        except OSError as exc:
            if time.monotonic() > deadline:
                return [f'{group} could not be given back: {exc.strerror}.']
            time.sleep(0.05)


def _remove(group: Path) -> None:
    if group.exists():
        _set_runtime(group, 0)
        group.rmdir()


def _below(top: Path) -> list[Path]:
    """Return the groups below ``top``, the deepest first."""
    return [Path(path) for path, _, _ in os.walk(top, topdown=False)
            if path != str(top)]


def _runtime(group: Path) -> int | None:
    path = group / 'cpu.rt_runtime_us'
    return int(path.read_text()) if path.exists() else None


def _set_runtime(group: Path, value: int | None) -> None:
    if value is not None and _runtime(group) not in (None, value):
        (group / 'cpu.rt_runtime_us').write_text(str(value))


def _has_processes(group: Path) -> bool:
    return any(
        path.read_text().strip() for path in group.rglob('cgroup.procs'))
