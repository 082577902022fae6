# SPDX-License-Identifier: Apache-2.0
"""What a node's virtual machines got, from its task's last line."""

import json

import pytest

from stack.nodes import turns

FOUND = json.dumps({
    'kernel': '6.1.0-1-cloud-amd64', 'tick_us': 4000, 'window_us': 2_000_000,
    'windows': [{'is_exact': True, 'beside': 'fifo', 'vcpus': [
        {'runtime_us': 200_000, 'period_us': 1_000_000,
         'ran_us': [[100_000, 300_000], [1_700_000, 1_900_000]]}]}]})


@pytest.fixture
def vcpu():
    window, = turns.parse(FOUND).windows
    vcpu, = window.vcpus
    return vcpu


def test_a_vcpu_has_the_share_that_its_turns_make(vcpu):
    assert vcpu.reserved == pytest.approx(0.2)
    assert vcpu.supply.share() == pytest.approx(0.2)


def test_between_its_turns_it_gets_nothing(vcpu):
    assert vcpu.supply.in_any_second() == pytest.approx(0)
    assert vcpu.supply.in_whole_periods(1_000_000) == pytest.approx(0.2)


def test_a_vcpu_that_never_ran_has_no_share():
    window, = turns.parse(FOUND.replace('[[100000, 300000], [1700000, 1900000]]', '[]')).windows
    assert window.vcpus[0].supply.share() == 0
