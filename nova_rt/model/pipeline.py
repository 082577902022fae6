# SPDX-License-Identifier: Apache-2.0
"""Pipelines on one pCPU: `hcbs-linux-containers` section 3.3, exactly.

This documents equations (1) to (3) of the paper; no command uses it.
"""

from collections.abc import Sequence
import dataclasses
from fractions import Fraction

from nova_rt.model import checks
from nova_rt.model import supply


@dataclasses.dataclass(frozen=True, slots=True)
class Pipeline:
    """Tasks that run one after the other, with a deadline for all together.

    :ivar wcets_us: C of each task in µs
    :ivar deadline_us: D in µs, which is the period too
    :raises checks.ModelError: if these are invalid, or D is less than the
        sum of C
    """

    wcets_us: Sequence[int]
    deadline_us: int

    def __post_init__(self) -> None:
        if not 1 <= len(self.wcets_us) <= 1000:
            raise checks.ModelError('A pipeline has 1 to 1000 tasks, and '
                                    f'this one has {len(self.wcets_us)}.')
        for wcet in self.wcets_us:
            checks.time_us('An execution time in the pipeline', wcet)
        checks.time_us('The deadline of the pipeline', self.deadline_us)
        if self.wcet_us > self.deadline_us:
            raise checks.ModelError(
                f'The pipeline needs {self.wcet_us} µs, longer than its '
                f'deadline of {self.deadline_us} µs: one CPU cannot do it.')

    @property
    def wcet_us(self) -> int:
        """Execution time of the whole pipeline in µs."""
        return sum(self.wcets_us)

    def split(self) -> list[tuple[int, Fraction]]:
        """Return (Q_i, P_i) of a reservation for each task: equation (1).

        The deadline is split in proportion to the execution times.
        """
        return [(wcet, Fraction(wcet, self.wcet_us) * self.deadline_us)
                for wcet in self.wcets_us]

    def separate_bandwidth(self) -> Fraction:
        """Return the bandwidth of all of these, U_DL: equation (2)."""
        return Fraction(len(self.wcets_us) * self.wcet_us, self.deadline_us)

    def group_bandwidth(self) -> Fraction:
        """Return the bandwidth of one for all tasks, U_HCBS: equation (3)."""
        return Fraction(self.wcet_us, self.deadline_us)

    def resource(self) -> supply.Resource:
        """Return one reservation for all tasks: Q = ΣC every P = D, m = 1."""
        return supply.Resource(self.wcet_us, self.deadline_us)
