# SPDX-License-Identifier: Apache-2.0
"""What the kernel reports about the containers of this machine."""

from collections.abc import Iterable
from dataclasses import dataclass
import os
from pathlib import Path
import time

from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import tree

ACCOUNTING = Path('/sys/fs/cgroup/cpuacct')
CPUSETS = Path('/sys/fs/cgroup/cpuset')


def spoken() -> dialect.Dialect | None:
    """Return the dialect this kernel speaks, None without RT groups."""
    return detect.detect(tree.CgroupTree.find(), os.cpu_count() or 1)


@dataclass(frozen=True)
class Container:
    """A server's container, as its control groups show it.

    :ivar server: the server's name.
    :ivar group: the container's group below each controller.
    :ivar shares: bandwidth reserved by pCPU, as fractions; only pCPUs that
        the container may use.
    """

    server: str
    group: str
    shares: dict[int, float]


def container(kernel: dialect.Dialect, server: str, domain: str) -> Container:
    """Return the running container of a server.

    :param domain: the name that libvirt knows (its instance_name).
    :raises FileNotFoundError: if it does not run.
    """
    groups = list((ACCOUNTING / 'machine').glob(f'lxc-*-{domain}.libvirt-lxc'))
    if not groups:
        raise FileNotFoundError(f'No container of server {server} runs.')
    group = str(groups[0].relative_to(ACCOUNTING))
    budget = kernel.read(group)
    return Container(server, group, {
        cpu: budget.runtimes_us[cpu] / budget.period_us
        for cpu in _cpus((CPUSETS / group / 'cpuset.cpus').read_text())})


def measure(
    containers: Iterable[Container], seconds: float,
) -> dict[str, dict[int, float]]:
    """Measure for some seconds which share of each pCPU each container got.

    The source is the kernel's accounting of the container's group
    (cpuacct.usage_percpu, in ns): no program in the container is trusted,
    and all its processes count.

    :returns: by server and pCPU, as fractions.
    """
    containers = list(containers)
    before = {container.server: used(container) for container in containers}
    time.sleep(seconds)
    shares: dict[str, dict[int, float]] = {}
    for container in containers:
        began, used_before = before[container.server]
        ended, used_after = used(container)
        shares[container.server] = {
            cpu: (used_after[cpu] - used_before[cpu]) / (ended - began)
            for cpu in container.shares}
    return shares


def used(container: Container) -> tuple[int, list[int]]:
    """Return the time now and the CPU time used by pCPU, all in ns."""
    text = (ACCOUNTING / container.group / 'cpuacct.usage_percpu').read_text()
    return time.monotonic_ns(), [int(word) for word in text.split()]


def _cpus(text: str) -> list[int]:
    """Return the numbers in a list such as "0-2,5"."""
    numbers: list[int] = []
    for part in text.strip().split(','):
        first, _, last = part.partition('-')
        numbers += range(int(first), int(last or first) + 1)
    return numbers
