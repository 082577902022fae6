# SPDX-License-Identifier: Apache-2.0
"""How much of a resource class Placement allocates at once, whatever is left of it."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Units:
    """What an inventory of Placement's allows of one allocation.

    :ivar least: ``min_unit``
    :ivar most: ``max_unit``
    :ivar step: ``step_size``
    """

    least: int
    most: int
    step: int

    def refusal(self, amount: int) -> str | None:
        """Return why Placement never allocates an amount, a sentence; None if it may."""
        if amount > self.most:
            return f'Placement allocates at most {self.most} at once (max_unit).'
        if amount < self.least:
            return f'Placement allocates at least {self.least} at once (min_unit).'
        if amount % self.step:
            return f'Placement allocates multiples of {self.step} only (step_size).'
        return None
