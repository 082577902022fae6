# SPDX-License-Identifier: Apache-2.0
"""What the kernel of a node reports about its containers, as JSON.

It is copied to the node and runs there, with nothing but Python and nova-rt:
``look.py [SECONDS [COMMAND...]]``. With SECONDS, it measures for so long what each
container gets of each pCPU, from the outside: by ``cpu.rt_stat``, the kernel's own
account. The command runs meanwhile, in the root group, and is ended then.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import tree

# With systemd's machined, on cgroup v2, and without it, on v1 or v2.
_PLACES = ('machine.slice/machine-lxc*.scope/libvirt',
           'machine/lxc-*.libvirt-lxc')
_DOMAIN = re.compile(r'instance-[0-9a-f]{8}')
_PRIORITY = 99
SETTLE_S = 1.0  # until what runs beside does so on every pCPU
PATIENCE_S = 60.0  # until hogs that were just started run


class Measured:
    """All running containers.

    :param seconds: for how long to measure, 0 for not at all.
    :param beside: a command to run meanwhile, in the root group.
    :ivar containers: an object for JSON by the name of the container's domain.
    """

    def __init__(self, seconds: float, beside: Sequence[str] = ()) -> None:
        spoken, by_name = groups()
        self.containers = {name: _describe(spoken, group)
                           for name, group in by_name.items()}
        if seconds:
            self._measure(spoken, by_name, seconds, beside)

    def _measure(self, spoken: dialect.Dialect, by_name: dict[str, str],
                 seconds: float, beside: Sequence[str]) -> None:
        above_all(spoken.tree)
        with running(beside):
            before = {name: used(spoken, group)
                      for name, group in by_name.items()}
            time.sleep(seconds)
            for name, group in by_name.items():
                self.containers[name]['shares'] = _shares(
                    before[name], used(spoken, group))


def groups() -> tuple[dialect.Dialect, dict[str, str]]:
    """Return what the kernel speaks, and each container's group by its domain's name."""
    spoken = detect.detect(tree.CgroupTree.find(), os.cpu_count() or 1)
    if spoken is None:
        sys.exit('The kernel has no real-time control groups.')
    root = spoken.tree.root
    found = [str(path.relative_to(root)) for place in _PLACES for path in root.glob(place)]
    return spoken, {match[0]: group for group in found
                    if (match := _DOMAIN.search(group.replace('\\x2d', '-')))}


def wait_for_hogs() -> None:
    """Wait until each container has used a period's runtime on each of its pCPUs.

    How long that takes depends on what else the node's Debian starts.

    :raises SystemExit: if a container does not within a minute.
    """
    spoken, by_name = groups()
    end = time.monotonic() + PATIENCE_S
    while waiting := sorted(name for name, group in by_name.items()
                            if not _has_run(spoken, group)):
        if time.monotonic() > end:
            sys.exit(f'No hog runs on every pCPU of {", ".join(waiting)}.')
        time.sleep(0.1)


def _has_run(spoken: dialect.Dialect, group: str) -> bool:
    return all(got >= runtime_us for got, runtime_us in zip(
        used(spoken, group)[1], spoken.read(group).runtimes_us, strict=True))


def _describe(spoken: dialect.Dialect, group: str) -> dict[str, object]:
    budget = spoken.read(group)
    pids = [int(pid) for pid in
            spoken.tree.read(group, 'cgroup.procs').split()]
    return {
        'group': group, 'dialect': spoken.name,
        'period_us': budget.period_us, 'runtimes_us': budget.runtimes_us,
        # All its processes may run where its init may.
        'pcpus': sorted(os.sched_getaffinity(pids[-1])) if pids else [],
        'policies': sorted(set(_policies(pids)))}


def _policies(pids: list[int]) -> Iterator[tuple[int, int]]:
    """Yield policy and priority of every thread."""
    for path in itertools.chain.from_iterable(
            pathlib.Path(f'/proc/{pid}/task').glob('*') for pid in pids):
        with contextlib.suppress(ProcessLookupError):
            thread = int(path.name)
            yield (os.sched_getscheduler(thread),
                   os.sched_getparam(thread).sched_priority)


def above_all(tree_of_groups: tree.CgroupTree) -> None:
    """Let this process run before everything that it measures."""
    (tree_of_groups.root / 'cgroup.procs').write_text(str(os.getpid()))
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))


@contextlib.contextmanager
def running(command: Sequence[str]) -> Iterator[None]:
    """Run a command while the context lasts.

    :raises SystemExit: if it ended by itself: the measurement then proves nothing.
    """
    if not command:
        yield
        return
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        time.sleep(SETTLE_S)
        try:
            yield
            if process.poll() is not None:
                sys.exit(f'{command[0]} has ended: nothing was beside.')
        finally:
            process.kill()


def used(spoken: dialect.Dialect, group: str) -> tuple[float, list[int]]:
    """Return the time now and the time used by pCPU, in us."""
    began = time.monotonic_ns()
    lines = spoken.tree.read(group, 'cpu.rt_stat').splitlines()
    now = (began + time.monotonic_ns()) / 2_000
    return now, [int(line.split()[1].removeprefix('used_usec='))
                 for line in lines]


def _shares(before: tuple[float, list[int]],
            after: tuple[float, list[int]]) -> list[float]:
    passed = after[0] - before[0]
    return [(new - old) / passed
            for old, new in zip(before[1], after[1], strict=True)]


if __name__ == '__main__':
    print(json.dumps(Measured(
        float(sys.argv[1]) if len(sys.argv) > 1 else 0.0,
        sys.argv[2:]).containers))
