# SPDX-License-Identifier: Apache-2.0
"""Counters of what applications tell never fall, so that nothing counts twice."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt.metrics import totals
from nova_rt.monitor import record
from nova_rt.tests.unit.metrics import test_collector
from nova_rt.tests.unit.monitor import examples

SERVER = test_collector.SERVER
CONTROL, PLANNER = (record.decode(examples.missed(misses, name=name))
                    for name, misses in ((b'control', 2), (b'planner', 1)))


@pytest.fixture
def of():
    """Returns jobs and misses of a server whose activities tell this."""
    kept = totals.Totals()
    return lambda *records: kept.of(SERVER, records)


def test_an_activity_that_cannot_be_read_for_once_counts_as_before(of):
    assert of(CONTROL, PLANNER) == (3, 3)
    assert of(PLANNER) == (3, 3)
    assert of() == (3, 3)
    assert of(CONTROL, PLANNER._replace(jobs=7)) == (9, 3)


def test_one_that_begins_anew_keeps_what_it_had(of):
    of(CONTROL, PLANNER)
    assert of(CONTROL._replace(jobs=1, misses=0), PLANNER) == (4, 3)
    assert of(CONTROL._replace(jobs=2, misses=1), PLANNER) == (5, 4)


def test_a_server_that_never_told_anything_has_no_counters(of):
    assert of() is None


def test_a_server_that_was_started_anew_begins_anew():
    kept = totals.Totals()
    kept.of(SERVER, [CONTROL])
    started = dataclasses.replace(SERVER, number=SERVER.number + 1)
    kept.keep([started])
    assert kept.of(started, [PLANNER]) == (1, 1)
    assert kept.of(SERVER, []) is None


def test_no_more_activities_are_remembered_than_are_worth_it(of):
    for number in range(10 * totals.MOST):
        found = of(CONTROL._replace(name=f'activity-{number}'))
    assert found == (20 * totals.MOST, 20 * totals.MOST)


@given(st.lists(st.lists(st.tuples(st.sampled_from('abc'), st.integers(0, 9), st.integers(0, 9)),
                         unique_by=lambda each: each[0])))
def test_whatever_they_tell_no_counter_falls(told):
    kept, before = totals.Totals(), (0, 0)
    for records in told:
        now = kept.of(SERVER, [CONTROL._replace(name=name, jobs=jobs, misses=misses)
                               for name, jobs, misses in records]) or (0, 0)
        assert now[0] >= before[0]
        assert now[1] >= before[1]
        before = now
