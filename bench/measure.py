# SPDX-License-Identifier: Apache-2.0
"""Measure actions that are compared, in turn within one run.

The machine need not be idle: a disturbance affects both, the order changes
from round to round, and ratios are taken within a round.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import gc
import statistics
import time
from typing import Any

Action = Callable[[], object]


@dataclasses.dataclass(frozen=True)
class Spread:
    """Median and range of repeated measurements."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> 'Spread':
        """Return the spread of at least one sample."""
        return cls(statistics.median(samples), min(samples), max(samples))


@dataclasses.dataclass(frozen=True)
class Aim:
    """An aim, and whether it was met."""

    text: str
    met: bool


@dataclasses.dataclass(frozen=True)
class Measurement:
    """A measurement, and what it is compared with.

    :ivar name: what was measured
    :ivar unit: of ``ours`` and ``theirs``
    :ivar ours: with nova-rt
    :ivar beside: what a user would otherwise have
    :ivar theirs: the same for that
    :ivar ratio: ours over theirs
    """

    name: str
    unit: str
    ours: Spread
    beside: str = ''
    theirs: Spread | None = None
    ratio: Spread | None = None
    aims: tuple[Aim, ...] = ()
    notes: Mapping[str, object] = dataclasses.field(default_factory=dict)


def in_turn(actions: Mapping[str, Action], rounds: int,
            clock: Callable[[], float] = time.process_time,
            before: Mapping[str, Action] | None = None,
            ) -> dict[str, list[float]]:
    """Return the seconds that each action took in each round.

    Each action runs once before, unmeasured. Garbage is collected before each
    action, so that none pays for another; objects from before are frozen.

    :param clock: CPU time of the process by default, which other processes
        on the machine do not lengthen
    :param before: what to do, unmeasured, before each run of an action
    """
    before = before or {}
    for name, action in actions.items():
        before.get(name, _nothing)()
        action()
    gc.collect()
    gc.freeze()
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds):
        names = list(actions) if number % 2 else list(actions)[::-1]
        for name in names:
            before.get(name, _nothing)()
            gc.collect()
            began = clock()
            actions[name]()
            seconds[name].append(clock() - began)
    gc.unfreeze()
    return seconds


def _nothing() -> None:
    pass


def repeated(action: Action, times: int) -> Action:
    """Return an action that repeats this one."""
    def loop() -> None:
        for _ in range(times):
            action()
    return loop


def compared(name: str, beside: str, ours: Sequence[float],
             theirs: Sequence[float], unit: str, scale: float,
             **more: Any) -> Measurement:
    """Return the measurement of two series from the same rounds.

    :param scale: units in one second, over the number of things done in it
    :param more: further fields
    """
    return Measurement(
        name, unit, Spread.of([sample * scale for sample in ours]), beside,
        Spread.of([sample * scale for sample in theirs]),
        Spread.of([our / their for our, their
                   in zip(ours, theirs, strict=True)]), **more)


def ratio_of(measurement: Measurement) -> float:
    """Return the median ratio of a comparison.

    :raises ValueError: if it is not a comparison
    """
    if measurement.ratio is None:
        raise ValueError(f'{measurement.name} is not a comparison.')
    return measurement.ratio.median


def with_aims(measurement: Measurement, *aims: Aim) -> Measurement:
    """Return a copy of a measurement with its aims."""
    return dataclasses.replace(measurement, aims=aims)
