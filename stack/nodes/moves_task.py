#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The containers of the paper while one of them is moved between pCPUs, as JSON.

``bare.py``, ``look.py`` and ``samples.py``, which lie beside this program in the node's
folder, start them and say what they used. A vCPU of the third goes to another pCPU and back
at moments that have nothing to do with its period. The last line printed begins with RESULT.
"""

import json
import time

from bare import Bare  # type: ignore[import-not-found]  # beside it on the node
import look  # type: ignore[import-not-found]  # beside it on the node
from samples import Samples  # type: ignore[import-not-found]  # beside it on the node

from nova_rt import ledger
from nova_rt import reservation

PERIOD_US = 20_000
# Percent of each vCPU, and vCPUs: figure 5 of the OpenStack paper.
ASKED = ((50, 2), (30, 1), (40, 3))
MOVES = 20
SETTLED = 2.0  # seconds from when every hog runs
STILL = 1.0  # seconds without moves, before and after
# Seconds between two moves: no multiple of the period, nor of half of it.
APART = 0.0837


def main() -> None:
    """Start the containers, move one of them, and print what all of them used."""
    node = Bare()
    for percent, vcpus in ASKED:
        node.start(reservation.Reservation(PERIOD_US * percent // 100, PERIOD_US, vcpus))
    first = node.holdings[-1]
    look.wait_for_hogs()
    time.sleep(SETTLED)
    spoken, groups = look.groups()
    look.above_all(spoken.tree)
    samples = Samples(lambda group: (sum(look.used(spoken, group)[1]),), groups)
    time.sleep(STILL)
    moved = [go_back_and_forth(node, first, number) for number in range(MOVES)]
    time.sleep(STILL)
    samples.end()
    containers = look.Measured(0).containers
    node.end()
    print('\nRESULT', json.dumps({
        'period_us': PERIOD_US, 'asked': ASKED, 'moved': moved, 'samples': samples.taken,
        'pcpus': {name: each['pcpus'] for name, each in containers.items()}}), flush=True)


def go_back_and_forth(node: Bare, first: ledger.Holding, number: int) -> float:
    """Move a vCPU of the last container; return how long it took, in seconds."""
    time.sleep(APART)
    began = time.monotonic()
    node.move(first if number % 2 else paper_move(first))
    return time.monotonic() - began


def paper_move(held: ledger.Holding) -> ledger.Holding:
    """Return what container 3 holds after the move of section 5.2: CPU 3 to CPU 1."""
    other, = {0, 1, 2, 3} - set(held.pcpus)
    return held.moved(max(held.pcpus), other)


if __name__ == '__main__':
    main()
