# SPDX-License-Identifier: Apache-2.0
"""When misses are too many."""

from __future__ import annotations

import collections
import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Threshold:
    """So many misses within a time.

    :ivar misses: at least 1
    """

    misses: int
    window_s: float


class Tally:
    """The misses of one server that count at present."""

    def __init__(self, threshold: Threshold) -> None:
        self._threshold = threshold
        # When, and how many; what is heard at once is one entry.
        self._heard: collections.deque[tuple[float, int]] = collections.deque()
        self.count = 0

    def add(self, misses: int, now_s: float) -> bool:
        """Count some more; return whether they are too many, and then begin anew.

        :param now_s: not less than the last time
        """
        while self._heard and self._heard[0][0] <= now_s - self._threshold.window_s:
            self.count -= self._heard.popleft()[1]
        self._heard.append((now_s, misses))
        self.count += misses
        if self.count < self._threshold.misses:
            return False
        self._heard.clear()
        self.count = 0
        return True
