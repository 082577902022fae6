# SPDX-License-Identifier: Apache-2.0
"""A pCPU drawn as a bar: who holds how much of it, and what is left."""

from collections.abc import Iterable

from nova_rt import bandwidth

WIDTH = 50  # characters that stand for a whole CPU


def bar(pcpu: int, capacity: int, left: int, held: Iterable[tuple[str, int]]) -> str:
    """Return a line such as ``pCPU 0 [###web 60%###..left 35%..] cap 95%``.

    Bandwidths are in fixed point. What is neither held by name nor left is drawn
    blank: where reservations occupy every pCPU, those of other pCPUs.

    :param held: names and bandwidths
    """
    held = list(held)
    others = capacity - left - sum(share for _, share in held)
    parts = [_part(name, share, '#') for name, share in held]
    if _width(others) > 0:
        parts.append(_part('other pCPUs', others, ' '))
    parts.append(_part('left', left, '.'))
    return f'pCPU {pcpu} [{"".join(parts)}] cap {bandwidth.percent(capacity)}'


def _part(name: str, share: int, fill: str) -> str:
    """Return a part of a bar, with as much of its name as there is room for."""
    width = max(_width(share), 0)
    return f'{name} {bandwidth.percent(share)}'[:width].center(width, fill)


def _width(share: int) -> int:
    return round(share * WIDTH / bandwidth.BW_UNIT)
