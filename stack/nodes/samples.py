# SPDX-License-Identifier: Apache-2.0
"""Looks at containers again and again, while something is done with them.

It is copied into the folder of the node, beside the tasks that use it.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import threading
import time

PAUSE = 0.002  # seconds between two looks


class Samples:
    """What was seen of containers.

    :param see: returns what is to be known of a group
    :param groups: the containers' groups, by name
    :ivar taken: by name, when it was looked and when that ended, in µs, and what was seen at
        some moment between
    """

    def __init__(self, see: Callable[[str], Sequence[int]], groups: Mapping[str, str]) -> None:
        self._see = see
        self._groups = groups
        self.taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in groups}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        while not self._over.wait(PAUSE):
            for name, group in self._groups.items():
                began = time.monotonic_ns() / 1_000
                seen = self._see(group)
                self.taken[name].append((began, time.monotonic_ns() / 1_000, *seen))

    def end(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()
