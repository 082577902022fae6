# SPDX-License-Identifier: Apache-2.0
"""What a look at a host may find."""

import dataclasses
import pathlib

from nova_rt.virt.cgroup import tree as cgroup_tree

OK = 'ok'
WARNING = 'warning'
WRONG = 'wrong'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    :ivar check: what
    :ivar verdict: ``ok``; ``warning``, with less room than there could be;
        ``wrong``, where reservations cannot be held
    :ivar found: what is so, a sentence
    :ivar advice: what to do, empty where nothing is
    """

    check: str
    verdict: str
    found: str
    advice: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """What is looked at.

    :ivar tree: the groups of the cpu controller, None without any
    :ivar present: the pCPUs that there are
    :ivar online: those that run
    :ivar cap: the largest bandwidth that is to be admitted on a pCPU
    :ivar machine_groups: where containers are, below the root
    :ivar debugfs: where debugfs is mounted, if it is
    """

    tree: cgroup_tree.CgroupTree | None
    present: frozenset[int]
    online: frozenset[int]
    cap: int
    machine_groups: tuple[str, ...]
    debugfs: pathlib.Path = pathlib.Path('/sys/kernel/debug')


def refused(check: str, why: Exception) -> Finding:
    """Return a finding from a sentence "what: what to do."."""
    found, _, advice = str(why).rstrip('.').partition(': ')
    return Finding(check, WRONG, found, advice)
