# SPDX-License-Identifier: Apache-2.0
"""Synthesised reservations, run.

FULL=1 runs all 150 sets, 10,000 times each, searches 5,000,000 worlds for
responses above their bounds, and climbs for another hour.
"""

import dataclasses
import itertools
import math
import time

import pytest

from nova_rt.model import adversary
from nova_rt.model import campaign
from nova_rt.model import generate
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_
from nova_rt.testing import full
from nova_rt.tests.unit.model import examples

SETS = list(generate.evaluation_sets())
RUNS = 10_000 if full.WANTED else 20


def test_no_synthesised_reservation_misses_a_deadline(capsys):
    shares, total = [], None
    for seed, tasks in enumerate(SETS if full.WANTED else SETS[::10]):
        found = synthesis.synthesise(tasks, [10_000]).resource
        shares.append((float(tasks_.utilisation(tasks)),
                       float(found.bandwidth)))
        tally = campaign.worst_case(tasks, found) + campaign.random_cases(
            tasks, found, RUNS, seed)
        assert tally.misses == 0, (tasks, found)
        total = tally if total is None else total + tally
    with capsys.disabled():
        print(f'\n{len(shares)} sets, {total.runs} runs, {total.events} '
              f'events: largest response/deadline {total.worst:.4f}; mean '
              f'utilisation {sum(u for u, _ in shares) / len(shares):.3f}, '
              f'bandwidth {sum(b for _, b in shares) / len(shares):.3f}')
    assert total.worst <= 1


def test_too_small_a_reservation_is_caught():
    tasks = [tasks_.Task(5000, 20_000), tasks_.Task(12_000, 40_000)]
    found = synthesis.least_runtime(tasks, 10_000, 1).resource
    less = supply.Resource(found.budget_us - 200, 10_000)
    assert campaign.worst_case(tasks, less).misses > 0
    assert campaign.worst_case(tasks, found).misses == 0


def test_gamma_of_the_paper_misses_nothing_in_its_reservation():
    tally = campaign.worst_case(
        examples.gamma(), supply.Resource(30_000, 10_000, 4))
    tally += campaign.random_cases(
        examples.gamma(), supply.Resource(30_000, 10_000, 4), RUNS, 1)
    assert tally.misses == 0
    assert tally.worst < 1


def test_the_same_seed_gives_the_same_runs():
    resource = supply.Resource(8000, 10_000)
    one, other, third = (campaign.random_cases(
        SETS[0], resource, 5, seed) for seed in (3, 3, 4))
    assert (one.histogram == other.histogram).all()
    assert one.events == other.events
    assert (one.histogram != third.histogram).any()


@pytest.mark.parametrize('vcpus', [1, 3])
def test_every_run_is_counted(vcpus):
    tally = campaign.random_cases(
        SETS[0], supply.Resource(9000 * vcpus, 10_000, vcpus), 7, 1)
    assert tally.runs == 7
    assert tally.histogram.sum() > 0
    assert tally.events > tally.histogram.sum()


CELLS = list(itertools.product(
    generate.GENERATORS, synthesis.SCHEDULERS, range(2, 9)))


def explore(cells, starts, steps, seeds, end=math.inf):
    """Search one set of each cell for each seed.

    :param end: when to draw no more, as time.monotonic() has it
    """
    results, total, rounds = {}, adversary.Result(), 0
    for seed in itertools.takewhile(lambda seed: time.monotonic() < end, seeds):
        for cell, result in campaign.explore(
                cells, starts, steps, seed).items():
            assert not result.above, (cell, seed)
            results[cell] = results.get(cell, adversary.Result()) + result
            total += result
        rounds += 1
    if full.WANTED:
        print()
        for cell, result in results.items():
            print(*cell, f'{result.runs} runs, {result.worst:.4f}')
    print(f'{rounds * len(cells)} sets, {total.runs} runs, {total.events} '
          f'events: largest response/bound {total.worst:.4f}')


# Apart, so that several processors can search (pytest -n). Each draws six sets for
# each cell and has 841,680 worlds.
PARTS = range(6 if full.WANTED else 1)


@pytest.mark.parametrize('part', PARTS)
def test_no_response_is_above_its_bound_beside_any_neighbours(capsys, part):
    # Without FULL=1 one cell in five: all generators, both schedulers and
    # all numbers of vCPUs are among them.
    with capsys.disabled():
        if full.WANTED:
            explore(CELLS, 4, 500, range(6 * part, 6 * part + 6))
        else:
            explore(CELLS[::5], 2, 20, [0])


def test_no_climb_leads_above_a_bound(capsys):
    # Few worlds, each changed very often; two and three vCPUs, where
    # responses come nearest to their bounds.
    cells = [cell for cell in CELLS if cell[2] <= 3]
    hour = time.monotonic() + 3600
    with capsys.disabled():
        if full.WANTED:
            explore(cells, 1, 20_000, itertools.count(), hour)
        else:
            explore(cells[::7], 1, 200, [0])


def test_the_search_finds_a_bound_that_is_too_short():
    tasks = [tasks_.Task(5000, 20_000), tasks_.Task(12_000, 40_000)]
    synthesised = synthesis.least_runtime(tasks, 10_000, 1)
    short = dataclasses.replace(synthesised.verdict, response_us=tuple(
        bound * 9 // 10 for bound in synthesised.verdict.response_us))
    for verdict, above in ((synthesised.verdict, False), (short, True)):
        result = adversary.search(
            tasks, synthesised.resource, [0, 1], verdict, 3, 200, 1)
        assert bool(result.above) == above
        assert result.worst > 0.9
