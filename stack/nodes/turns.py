# SPDX-License-Identifier: Apache-2.0
"""When the vCPUs of a node's virtual machines ran, as its kernel traced it."""

from collections.abc import Sequence
from dataclasses import dataclass
import itertools
import json
from typing import Any

from stack.supply import Supply


@dataclass(frozen=True)
class VCpu:
    """What a vCPU has reserved, and what it got."""

    runtime_us: int
    period_us: int
    supply: Supply

    @property
    def reserved(self) -> float:
        """Return the share that it has reserved."""
        return self.runtime_us / self.period_us


@dataclass(frozen=True)
class Window:
    """All vCPUs for some seconds.

    :ivar is_exact: whether a timer ended turns, else the tick.
    :ivar beside: the policy of the hogs on every pCPU, or ``nothing``.
    """

    is_exact: bool
    beside: str
    vcpus: Sequence[VCpu]


@dataclass(frozen=True)
class Turns:
    """What ``machines_task.py`` found on a node.

    :ivar kernel: its release.
    :ivar tick_us: time between its ticks.
    """

    kernel: str
    tick_us: int
    windows: Sequence[Window]


def parse(text: str) -> Turns:
    """Return what ``machines_task.py`` printed."""
    found = json.loads(text)
    return Turns(found['kernel'], found['tick_us'], [
        Window(window['is_exact'], window['beside'],
               [_vcpu(fields, found['window_us']) for fields in window['vcpus']])
        for window in found['windows']])


def _vcpu(fields: dict[str, Any], window_us: int) -> VCpu:
    return VCpu(fields['runtime_us'], fields['period_us'],
                _supply(fields['ran_us'], window_us))


def _supply(ran_us: Sequence[tuple[int, int]], window_us: int) -> Supply:
    """Return the supply with a sample at the beginning and the end of each turn."""
    times_us = [0, *itertools.chain.from_iterable(ran_us), window_us]
    lengths_us = [end - begin for begin, end in ran_us]
    used_us = [0, *itertools.chain.from_iterable(
        itertools.pairwise(itertools.accumulate(lengths_us, initial=0))), sum(lengths_us)]
    return Supply(tuple(time * 1000 for time in times_us),
                  tuple(used * 1000 for used in used_us))
