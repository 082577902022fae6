# SPDX-License-Identifier: Apache-2.0
import random

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from nova_rt.model import checks
from nova_rt.model import generate
from nova_rt.model import tasks as tasks_


@given(st.integers(1, 30), st.floats(0.001, 0.999), st.integers(0, 10 ** 6))
def test_rand_fixed_sum_gives_shares_of_the_wanted_sum(count, part, seed):
    total = part * count
    shares = generate.rand_fixed_sum(count, total, random.Random(seed))
    assert len(shares) == count
    assert sum(shares) == pytest.approx(total, rel=1e-9)
    assert all(0 <= share <= 1 for share in shares)


@given(st.integers(1, 10), st.floats(0.01, 0.9), st.integers(0, 10 ** 6))
def test_uunifast_gives_shares_of_the_wanted_sum(count, total, seed):
    shares = generate.uunifast(count, total, random.Random(seed))
    assert sum(shares) == pytest.approx(total, rel=1e-9)
    assert all(0 <= share <= 1 for share in shares)


@pytest.mark.parametrize(('count', 'total'), [(4, 1.5), (5, 0.8), (3, 2.0)])
def test_both_generators_draw_from_the_same_distribution(count, total):
    # UUniFast with the discarding of large entries is uniform by rejection,
    # an argument that shares nothing with Stafford's walk.
    stats = pytest.importorskip('scipy.stats', reason='SciPy is missing')
    source = random.Random(7)
    walked = [generate.rand_fixed_sum(count, total, source)
              for _ in range(4000)]
    thrown = [generate.uunifast(count, total, source) for _ in range(4000)]
    for summary in (lambda row: row[0], max, min,
                    lambda row: row[0] * row[1]):
        assert stats.ks_2samp([summary(row) for row in walked],
                              [summary(row) for row in thrown]).pvalue > 1e-3


def test_the_evaluation_has_the_sets_of_the_paper():
    sets = list(generate.evaluation_sets())
    assert len(sets) == 150
    assert {len(tasks) for tasks in sets} == set(range(4, 13))
    loads = np.array([float(tasks_.utilisation(tasks)) for tasks in sets])
    assert loads == pytest.approx(np.linspace(0.6, 2.0, 150), abs=1e-3)
    assert sets == list(generate.evaluation_sets())


@pytest.mark.parametrize(('count', 'total'), [
    (0, 0.5), (3, 3.5), (3, 0), (3, -1), (3, float('nan')), (3, 1e308),
    (-2, 1), (2.5, 1)])
def test_impossible_totals_get_a_sentence(count, total):
    for one in (generate.uunifast, generate.rand_fixed_sum):
        with pytest.raises(checks.ModelError):
            one(count, total, random.Random(1))


def test_uunifast_says_when_it_throws_everything_away():
    with pytest.raises(checks.ModelError, match='RandFixedSum'):
        generate.uunifast(12, 11.9, random.Random(1))
