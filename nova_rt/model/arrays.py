# SPDX-License-Identifier: Apache-2.0
"""What the event loop works on: arrays of servers, groups, tasks and pCPUs.

Times are integers in µs.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class World(NamedTuple):
    """What does not change: by server, by group, by task, by task and job."""

    cpu: Ints
    group: Ints
    runtime: Ints
    period: Ints
    local: Ints  # by group: engine.FIXED_PRIORITY or EDF
    task_group: Ints
    rank: Ints  # lower is more urgent
    deadline: Ints  # relative
    arrivals: Ints  # ascending
    execution: Ints
    jobs: Ints  # by task, how many of the columns count


class State(NamedTuple):
    """What changes: by server, by group, by task, by pCPU, and the answers."""

    budget: Ints
    until: Ints  # absolute deadline
    throttled: Ints
    slept: Ints  # since when it sleeps, engine.NONE if not
    task: Ints  # task that the server runs
    ready: Ints  # by group: tasks that have work
    served: Ints  # by group: servers that have their pCPU
    woke: Ints  # by group: when it last got work after it had none
    stale: Ints  # by group: its tasks may have to move
    active: Ints  # by task: has work
    server: Ints  # by task: the server that runs it, or engine.NONE
    left: Ints  # execution left of the current job
    current: Ints  # index of the current job
    arrived: Ints  # jobs that have arrived
    running: Ints  # by pCPU: server
    finish: Ints  # by task and job, engine.NONE while unfinished
    trace: Ints  # rows of start, end, pCPU, server, task
    traced: Ints  # how many rows
