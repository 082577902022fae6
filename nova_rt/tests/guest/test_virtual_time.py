# SPDX-License-Identifier: Apache-2.0
"""The containers of the paper where time does not depend on the machine."""

import pytest

from demo import hcbs
from stack import prerequisites
from stack.nodes import alone


def test_each_gets_what_is_reserved_within_a_fifth_of_a_point(
        tmp_path_factory):
    if reason := prerequisites.missing_for_nodes():
        pytest.skip(reason)
    found = alone.measure(tmp_path_factory.mktemp('a'))
    assert len(found) == 3
    for one in found.values():
        assert one.farthest < hcbs.EXACT, one
