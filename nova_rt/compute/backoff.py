# SPDX-License-Identifier: Apache-2.0
"""When something that fails is tried again: each time after twice as long."""

from __future__ import annotations

import time


class Backoff:
    """The pauses of what is tried again and again, by name.

    :param first_s: the pause after the first time
    :param longest_s: the longest pause
    """

    def __init__(self, first_s: float, longest_s: float) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        # Its last pause, and when that ends by CLOCK_MONOTONIC.
        self._pauses: dict[str, tuple[float, float]] = {}

    def is_due(self, name: str) -> bool:
        """Return whether something may be tried now."""
        return name not in self._pauses or time.monotonic() >= self._pauses[name][1]

    def tried(self, name: str) -> None:
        """Begin the next pause."""
        pause_s = (min(self._longest_s, 2 * self._pauses[name][0])
                   if name in self._pauses else self._first_s)
        self._pauses[name] = pause_s, time.monotonic() + pause_s

    def forget(self, name: str) -> None:
        """Begin anew with something."""
        self._pauses.pop(name, None)
