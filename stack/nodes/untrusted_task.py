#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A container whose root is not the host's tries to take more than it has, as JSON.

``attempts`` runs in it as root, then a hog of the highest priority that it may have.
Beside it is a neighbour of the same kind, which only runs its hog. The last line printed
begins with RESULT.
"""

from collections.abc import Callable
import contextlib
import json
import os
import pathlib
import shutil
import time

from bare import Bare  # type: ignore[import-not-found]  # beside it on the node
from look import Measured  # type: ignore[import-not-found]  # beside it on the node

from nova_rt import reservation

PERIOD_US = 20_000
# The same for all containers, as Nova has it.
FIRST_ID = 100_000
IDS = 65_536
IDMAP = (f"<idmap><uid start='0' target='{FIRST_ID}' count='{IDS}'/>"
         f"<gid start='0' target='{FIRST_ID}' count='{IDS}'/></idmap>")
PRIORITY = 30
RESULT = 'srv/attempts'
GO = 'srv/go'
RC = f"""#!/bin/sh
until [ -e /{GO} ]; do sleep 1; done
/bin/attempts {PRIORITY} > /{RESULT}.part 2>&1
mv /{RESULT}.part /{RESULT}
exec /bin/hog fifo {PRIORITY}
"""
PATIENCE_S = 120
SETTLED = 2.0  # seconds until every hog runs
SECONDS = 10.0
GROUPS = pathlib.Path('/sys/fs/cgroup')
LIMITS = ('cpu.rt', 'cpuset.cpus', 'cpu.max', 'cpu.weight')


def main() -> None:
    """Let it try, look what became of it, and print the result."""
    node = Bare()
    roots = [_started(node, change) for change in (untrusted, shifted)]
    limits = all_limits()
    tried = roots[0] / RESULT
    (roots[0] / GO).touch()
    began = time.monotonic()
    while not tried.exists() and time.monotonic() - began < PATIENCE_S:
        time.sleep(0.5)
    time.sleep(SETTLED)
    containers = Measured(SECONDS).containers
    print('\nRESULT', json.dumps({
        'attempts': tried.read_text(), 'limits before': limits,
        'limits after': all_limits(), 'containers': containers, 'groups': groups_by_container(),
        'admission': pathlib.Path('/proc/sys/kernel/sched_rt_runtime_us').read_text(),
        'online': pathlib.Path('/sys/devices/system/cpu/online').read_text(),
    }), flush=True)
    node.end()


def _started(node: Bare, change: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """Start a container in a user namespace; return its root."""
    root: pathlib.Path = node.start(
        reservation.Reservation(6_000, PERIOD_US, 2),
        reservation.InitPolicy('fifo', PRIORITY), IDMAP, change)
    return root


def groups_by_container() -> list[list[str]]:
    """Return the groups that each container's processes are in."""
    groups: dict[str, set[str]] = {}
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        # Some end meanwhile.
        with contextlib.suppress(OSError):
            if process.stat().st_uid >= FIRST_ID:
                # A container has a file system of its own.
                groups.setdefault(os.readlink(process / 'ns/mnt'), set()).add(
                    (process / 'cgroup').read_text().strip().removeprefix('0::/'))
    return sorted(map(sorted, groups.values()))


def untrusted(root: pathlib.Path) -> None:
    """Let a container make its attempts when it starts."""
    shutil.copy('/srv/node/attempts', root / 'bin' / 'attempts')
    (root / 'etc' / 'rc').write_text(RC)
    (root / 'bin' / 'mv').symlink_to('busybox')
    shifted(root)


def shifted(root: pathlib.Path) -> None:
    """Give all of a container's files to its root, as Nova does."""
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files, '.'):
            os.chown(os.path.join(folder, name), FIRST_ID, FIRST_ID, follow_symlinks=False)


def all_limits() -> dict[str, str]:
    """Return the limits of all groups of the node, by file."""
    return {str(path.relative_to(GROUPS)): path.read_text()
            for path in sorted(GROUPS.rglob('*'))
            if path.name.startswith(LIMITS) and 'stat' not in path.name
            and 'effective' not in path.name}


if __name__ == '__main__':
    main()
