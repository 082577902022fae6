# SPDX-License-Identifier: Apache-2.0
"""What the doctor examines."""

import dataclasses
import pathlib

from nova_rt.virt.cgroup.tree import CgroupTree


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """A host, by where its kernel's files are.

    :ivar tree: the groups of the cpu controller, None without any
    :ivar present: the pCPUs that there are
    :ivar online: those that run
    :ivar cap: the largest bandwidth that is to be admitted on a pCPU
    :ivar machine_groups: where containers are, below the root
    :ivar debugfs: where debugfs is mounted, if it is
    :ivar wanted: the name of the only dialect that will do
    """

    tree: CgroupTree | None
    present: frozenset[int]
    online: frozenset[int]
    cap: int
    machine_groups: tuple[str, ...]
    debugfs: pathlib.Path = pathlib.Path('/sys/kernel/debug')
    wanted: str | None = None
