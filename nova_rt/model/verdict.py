# SPDX-License-Identifier: Apache-2.0
"""What a schedulability test answers."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """Where a test fails first.

    :ivar task: index of the task whose deadline is not guaranteed
    :ivar instant_us: length of the window in which it fails, in µs
    :ivar demand_us: what may have to be executed in it
    :ivar supply_us: what is supplied at least
    """

    task: int
    instant_us: int
    demand_us: int
    supply_us: int

    @property
    def missing_us(self) -> int:
        """Demand less supply, in µs."""
        return self.demand_us - self.supply_us


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of a sufficient test: yes is proven, no is "not proven".

    :ivar schedulable: no deadline is ever missed
    :ivar slack_us: the least that is left: deadline less response time under
        fixed priorities, supply less demand under EDF; µs, None on failure
    :ivar failure: None if schedulable
    :ivar response_us: by task, a bound of its response time in µs; None
        where there is none (under EDF, or from the failing task on)
    :ivar reason: one sentence, for people
    """

    schedulable: bool
    slack_us: int | None
    failure: Failure | None
    response_us: tuple[int | None, ...]
    reason: str
