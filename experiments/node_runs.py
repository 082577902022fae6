# SPDX-License-Identifier: Apache-2.0
"""Containers with activities on a node with our kernel, in virtual time on one CPU."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from pathlib import Path
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments import guest
from experiments import output
from stack import errors
from stack.nodes import alone


@dataclasses.dataclass(frozen=True)
class Server:
    """A container with a reservation of one vCPU, and an activity.

    :ivar activity: its name, period and deadline in µs, seed, and lengths of its jobs; without
        one, it never sleeps
    :ivar least_us: with how little runtime it can live for a while
    :ivar memory_mb, networks: what the choice of a victim looks at
    """

    runtime_us: int
    period_us: int
    rank: str
    activity: Sequence[object] = ()
    least_us: int | None = None
    memory_mb: int = 64
    networks: Sequence[str] = ()

    def settings(self) -> dict[str, object]:
        """Return what the node is told of it."""
        fields = dataclasses.asdict(self)
        return {name: value for name, value in fields.items()
                if name != 'activity' or value}


@dataclasses.dataclass(frozen=True)
class Ran:
    """What became of the last container, the critical one; times in ms.

    :ivar releases, ends: of its jobs; NaN where a job was skipped, as another one still ran
    :ivar heard: when a miss was reported, and when it was read
    :ivar writes: when a runtime had been written; whether it was this one's, and how much
    :ivar evictions: when somebody's stop was asked for, was begun and had ended
    """

    deadline_ms: float
    releases: Sequence[float]
    ends: Sequence[float]
    heard: Sequence[tuple[float, float]]
    writes: Sequence[tuple[float, bool, int]]
    evictions: Sequence[tuple[float, float, float]]

    def arrays(self) -> dict[str, npt.ArrayLike]:
        """Return all of it, to be saved."""
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, arrays: Mapping[str, npt.NDArray[np.float64]]) -> 'Ran':
        """Return what was saved."""
        return cls(float(arrays['deadline_ms']), *(
            arrays[name].tolist() for name in ('releases', 'ends', 'heard', 'writes', 'evictions')))

    @property
    def responses(self) -> list[float]:
        """Response times, of jobs that were not skipped."""
        return [end - release for release, end in zip(self.releases, self.ends, strict=True)
                if end == end]

    @property
    def late(self) -> list[float]:
        """The deadlines that were missed, by jobs that ended late or were skipped."""
        return [release + self.deadline_ms
                for release, end in zip(self.releases, self.ends, strict=True)
                if not end - release <= self.deadline_ms]


def run(servers: Sequence[Server], policy: Mapping[str, object] | None, seconds: float,
        clock: output.Clock, **more: object) -> Ran:
    """Run containers for some seconds of virtual time.

    :param policy: how to react to misses; None for not at all
    :param more: further settings, see ``stack/nodes/activities_task.py``
    :raises guest.GuestError: if the node fails
    """
    settings = {'containers': [server.settings() for server in servers], 'policy': policy,
                'seconds': seconds, **more}
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = alone.activities(Path(folder) / 'run', settings)
        except errors.StackError as exc:
            raise guest.GuestError(f'The node failed: {exc}') from None
    clock.say(f'{seconds:g} s on the node')
    return _told(found, servers[-1])


def _told(found: Mapping[str, Any], server: Server) -> Ran:
    name = found['names'][-1]
    began: int = min(release for release, _ in found['jobs'][name])

    def ms(time_ns: int) -> float:
        return (time_ns - began) / 1e6

    jobs = found['jobs'][name]
    return Ran(
        float(str(server.activity[2])) / 1000, [ms(release) for release, _ in jobs],
        [ms(end) if end else float('nan') for _, end in jobs],
        [(ms(reported), ms(read)) for who, reported, read, _ in found['heard'] if who == name],
        [(ms(ended), who == name, int(text.split()[-1]))
         for who, _, ended, file, text in found['writes'] if 'runtime' in file],
        [(ms(asked), ms(begun), ms(ended)) for _, _, asked, begun, ended in found['evictions']])
