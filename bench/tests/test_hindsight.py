# SPDX-License-Identifier: Apache-2.0
"""The functions by which the bounds of hindsight are computed."""

import hypothesis
from hypothesis import strategies

from bench import hindsight

CAPACITY = 95
SIZES = range(10, 81)


@hypothesis.given(strategies.lists(strategies.sampled_from(SIZES), max_size=9))
def test_what_fits_a_pcpu_weighs_no_more_than_the_most(sizes):
    while sum(sizes) > CAPACITY:
        sizes.pop()
    for function in hindsight.functions(SIZES, CAPACITY):
        assert sum(function.of[size] for size in sizes) <= function.most


def test_some_function_tells_that_large_ones_cannot_share_a_pcpu():
    assert any(2 * function.of[48] > function.most
               for function in hindsight.functions(SIZES, CAPACITY))
