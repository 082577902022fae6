# SPDX-License-Identifier: Apache-2.0
"""Lists of CPUs as the kernel writes them."""


def parse(text: str) -> frozenset[int]:
    """Return the CPUs in a list such as ``0-3,8``.

    :raises ValueError: if it is not one
    """
    found: set[int] = set()
    for word in text.strip().split(','):
        first, dash, last = word.strip().partition('-')
        start, end = int(first), int(last if dash else first)
        if end < start or start < 0:
            raise ValueError(f'{word} is no range')
        found.update(range(start, end + 1))
    return frozenset(found)
