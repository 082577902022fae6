# SPDX-License-Identifier: Apache-2.0
"""RT-Kube's cluster and deployments: sections V and V-B, Tables II and III."""

import dataclasses

from nova_rt import bandwidth
from nova_rt.model import tasks as tasks_

MEMORY_MB = 64
CAP = bandwidth.fraction_to_bandwidth(0.95)


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster.

    :ivar real_time: its kernel keeps reservations
    """

    pcpus: int
    memory_mb: int
    real_time: bool

    @property
    def capacity(self) -> tuple[int, ...]:
        """Return the capacity of each pCPU, in the kernel's fixed-point unit."""
        return (CAP if self.real_time else 0,) * self.pcpus


# I, off the robot; J, a Jetson Xavier (of 32 GB); R, without a real-time system.
NODES = {'I': Node(8, 16_384, True), 'J': Node(8, 32_768, True),
         'R': Node(8, 8192, False)}
# WCET and period, which is the deadline: 12, 16 and 20%.
TASKS = {'A': tasks_.Task(2900, 24_200), 'B': tasks_.Task(2900, 18_100),
         'C': tasks_.Task(2900, 14_500)}
# Table II.
DEPLOYMENTS = {'first': {'A': 32, 'B': 24, 'C': 16},
               'second': {'A': 16, 'B': 24, 'C': 32}}
# Table III, Kubernetes' standard configuration: refused, and the deadlines
# that were missed, of running tasks and of all, in %.
PAPER = {
    'first': {'A': (8, 3.3, 27.5), 'B': (7, 9.1, 35.6), 'C': (6, 6.5, 41.5)},
    'second': {'A': (8, 0.0, 50.0), 'B': (10, 2.9, 44.6),
               'C': (10, 4.3, 34.2)}}


def counts(deployment: str, part: str | None = None) -> dict[str, int]:
    """Return how many containers of each criticality there are.

    :param part: divide the counts by this, for a quick run
    """
    return {level: count // int(part or 1)
            for level, count in DEPLOYMENTS[deployment].items()}
