# SPDX-License-Identifier: Apache-2.0
"""Control groups that keep the machines of one libvirt apart from those of others."""

from collections.abc import Iterable
import contextlib
from pathlib import Path
import time

CGROUPS = Path('/sys/fs/cgroup')
PATIENCE = 20.0  # seconds in which the kernel must let go what has ended


def hierarchies() -> list[Path]:
    """Return where each hierarchy is mounted: one for a controller, or only one."""
    return [path for path in CGROUPS.iterdir() if (path / 'tasks').exists()] or [CGROUPS]


def make(name: str) -> list[Path]:
    """Make a group in every hierarchy; return them.

    They may use every CPU and all memory, which the kernel gives no new group by itself.
    """
    groups = []
    for above in hierarchies():
        group = above / name
        group.mkdir(exist_ok=True)
        groups.append(group)
        for cpuset in ('cpuset.cpus', 'cpuset.mems'):
            if (group / cpuset).exists() and above != CGROUPS:
                (group / cpuset).write_text((above / cpuset).read_text())
    return groups


def remove(groups: Iterable[Path]) -> list[str]:
    """Remove groups with those below them.

    :returns: what could not be removed, one sentence per item
    """
    deadline = time.monotonic() + PATIENCE
    left = [*groups]
    while left := [group for group in left if not _removed(group)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return [f'{group} could not be removed.' for group in left]


def _removed(group: Path) -> bool:
    for each in (*sorted(group.rglob('*/'), reverse=True), group):
        with contextlib.suppress(OSError):
            each.rmdir()
    return not group.exists()
