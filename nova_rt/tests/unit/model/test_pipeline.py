# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt.model import checks
from nova_rt.model import pipeline

STAGES = st.lists(st.integers(1, 1000), min_size=1, max_size=8)


def test_the_jack_experiment_of_the_paper_comes_out():
    # Table 1 gives P_i = 1319.32 and 263.86 µs for C = 290, 290, 58 µs
    # (its C of 58.05 would give 263.98) and a period of 2902.5 µs.
    split = pipeline.Pipeline([290_00, 290_00, 58_00], 2902_50).split()
    assert [round(float(period) / 100, 2) for _, period in split] == [
        1319.32, 1319.32, 263.86]
    chain = pipeline.Pipeline([290_00, 290_00, 58_05], 2902_50)
    assert round(float(chain.group_bandwidth()) * 100, 2) == 21.98


@given(STAGES, st.integers(0, 5000))
def test_equation_1_gives_every_stage_the_same_bandwidth(wcets, spare):
    chain = pipeline.Pipeline(wcets, sum(wcets) + spare)
    split = chain.split()
    assert sum(period for _, period in split) == chain.deadline_us
    assert {Fraction(runtime) / period for runtime, period in split} == {
        Fraction(sum(wcets), chain.deadline_us)}


@given(STAGES, st.integers(0, 5000))
def test_equation_2_is_the_sum_of_what_equation_1_reserves(wcets, spare):
    chain = pipeline.Pipeline(wcets, sum(wcets) + spare)
    assert chain.separate_bandwidth() == sum(
        Fraction(runtime) / period for runtime, period in chain.split())


@given(STAGES, st.integers(0, 5000))
def test_equation_3_is_n_times_less_and_is_what_is_reserved(wcets, spare):
    chain = pipeline.Pipeline(wcets, sum(wcets) + spare)
    assert chain.group_bandwidth() * len(wcets) == chain.separate_bandwidth()
    assert chain.resource().bandwidth == chain.group_bandwidth()


@pytest.mark.parametrize(('wcets', 'deadline'), [
    ([], 10), ([0], 10), ([-1], 10), ([5, 6], 10), ([1], 0),
    ([float('nan')], 10), ([1], 1e308)])
def test_nonsense_gets_a_sentence(wcets, deadline):
    with pytest.raises(checks.ModelError):
        pipeline.Pipeline(wcets, deadline)
