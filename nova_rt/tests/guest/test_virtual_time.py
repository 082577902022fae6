# SPDX-License-Identifier: Apache-2.0
"""The containers of the paper where time does not depend on the machine."""

import numpy as np
import pytest

from demo import hcbs
from nova_rt.tests.guest import windows
from stack import prerequisites
from stack.nodes import alone

# Of a vCPU.
SHARE_TOLERANCE = 0.005


def test_each_gets_what_is_reserved_within_a_fifth_of_a_point(
        tmp_path_factory):
    if reason := prerequisites.missing_for_nodes():
        pytest.skip(reason)
    found = alone.measure(tmp_path_factory.mktemp('a'))
    assert len(found) == 3
    for one in found.values():
        assert one.farthest < hcbs.EXACT, one


def test_while_one_is_moved_none_gets_less_than_its_reservation_supplies(tmp_path_factory):
    """In every window of up to half a second, as the sizing model has it.

    So a hog gets its bandwidth, and a periodic task that the sizing accepts misses nothing.
    """
    if reason := prerequisites.missing_for_nodes():
        pytest.skip(reason)
    found = alone.moves(tmp_path_factory.mktemp('m'))
    print(f'{len(found["moved"])} moves, each {1000 * min(found["moved"]):.1f} to '
          f'{1000 * max(found["moved"]):.1f} ms')
    names = sorted(found['samples'])
    lacks = {name: windows.most_lacking(np.array(found['samples'][name]), windows.supplied(
        percent * found['period_us'] // 100, found['period_us'], vcpus))
        for name, (percent, vcpus) in zip(names, found['asked'], strict=True)}
    print('most lacking in a window, in µs:', lacks)
    assert len(found['moved']) >= 20
    # Less than the smallest budget.
    assert [name for name in names if lacks[name] > windows.LOOKED_US] == []
    in_all = [share(found['samples'][name]) for name in names]
    print('in all:', in_all)
    assert [name for name, got, (percent, vcpus) in zip(
        names, in_all, found['asked'], strict=True)
        if got < percent * vcpus / 100 - SHARE_TOLERANCE] == []
    assert [len(found['pcpus'][name]) for name in names] == [
        vcpus for _, vcpus in found['asked']]


def share(samples):
    """Return what was used in all, in CPUs."""
    (began, _, before), (_, ended, after) = samples[0], samples[-1]
    return (after - before) / (ended - began)
