# SPDX-License-Identifier: Apache-2.0
import pytest

from stack import supply

MS = 1_000_000


def sampled(begins, runtime_ms, pause_ms=5, length_ms=4000):
    """Sample a thread that has turns of one length."""
    times = range(0, length_ms, pause_ms)
    return supply.Supply(
        tuple(now * MS for now in times),
        tuple(sum(min(max(now - begin, 0), runtime_ms) for begin in begins) * MS
              for now in times))


@pytest.mark.parametrize('pause_ms', [5, 7, 13])
def test_a_steady_supply_is_the_same_in_every_second(pause_ms):
    steady = sampled(range(30, 4000, 100), 20, pause_ms)
    assert steady.in_any_second() == pytest.approx(0.2, abs=0.005)
    assert steady.in_whole_periods(100_000) == pytest.approx(0.2, abs=0.005)


def test_the_second_with_a_skipped_period_is_the_worst():
    lacking = sampled([begin for begin in range(30, 4000, 100) if begin != 1730], 20)
    assert lacking.in_any_second() == pytest.approx(0.18)
    assert lacking.in_whole_periods(100_000) == pytest.approx(0.18)


def test_when_periods_begin_is_seen_in_any_of_them():
    """Only the first turn of all is at the end of its period."""
    begins = [80, *range(100, 4000, 100)]
    edges = [10, *sorted({4000, *begins, *(begin + 20 for begin in begins)})]
    at_edges = supply.Supply(
        tuple(now * MS for now in edges),
        tuple(sum(min(max(now - begin, 0), 20) for begin in begins) * MS for now in edges))
    assert at_edges.in_any_second() == pytest.approx(0.2)
    assert at_edges.in_whole_periods(100_000) == pytest.approx(0.2)


def test_a_turn_may_be_anywhere_in_its_period():
    """A second that begins in the middle of one may have less, one of whole periods not."""
    moved = sampled([begin + 70 * (begin % 1500 == 30) for begin in range(30, 4000, 100)], 20)
    assert moved.in_any_second() == pytest.approx(0.18)
    assert moved.in_whole_periods(100_000) == pytest.approx(0.2)


def test_less_than_a_second_says_nothing():
    with pytest.raises(ValueError, match='zero-size'):
        sampled(range(0, 900, 100), 20, length_ms=900).in_any_second()


def stolen(turns, stolen_ms):
    """Sample a thread as :func:`sampled`, where each pair is a moment and what was stolen."""
    seen = sampled(turns, 20)
    return supply.Supply(seen.times_ns, seen.used_ns, tuple(
        sum(took for moment, took in stolen_ms if moment * MS <= now) * MS
        for now in seen.times_ns))


def test_what_the_hypervisor_takes_in_a_second_counts_as_got():
    lacking = [begin for begin in range(30, 4000, 100) if begin != 1730]
    assert stolen(lacking, []).in_whole_periods(100_000, True) == pytest.approx(0.18)
    explained = stolen(lacking, [(1750, 10)])
    assert explained.in_whole_periods(100_000) == pytest.approx(0.18)
    assert explained.in_whole_periods(100_000, True) == pytest.approx(0.2, abs=0.001)


def test_what_the_hypervisor_takes_in_one_second_excuses_no_other():
    lacking = [begin for begin in range(30, 4000, 100) if begin != 1730]
    assert stolen(lacking, [(200, 50), (3900, 50)]).in_whole_periods(
        100_000, True) == pytest.approx(0.18)


def test_what_is_stolen_of_all_pcpus_is_what_is_stolen_of_each():
    assert 0 <= supply.stolen_ns(0) <= supply.stolen_ns()
    with pytest.raises(ValueError, match='1234'):
        supply.stolen_ns(1234)
