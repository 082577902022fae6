# SPDX-License-Identifier: Apache-2.0
"""What is made of what a node tells of recoveries, and both experiments as small as can be."""

import math

import numpy as np
import pytest

from experiments import guest
from experiments import node_runs
from experiments import output
from experiments import recovery
from experiments import recovery_pictures
from experiments import robot
from experiments import robot_pictures
from nova_rt.testing import full
from stack import prerequisites

NAN = float('nan')


def ran(releases, ends, writes, heard=((10.5, 10.7),)):
    """Return a run of a container with a deadline of 10 ms."""
    return node_runs.Ran(10.0, releases, ends, list(heard), writes, [])


def test_a_job_that_ends_late_and_one_that_is_skipped_have_missed_their_deadlines():
    told = ran([0, 10, 20, 30], [10, 21, NAN, 40.1], [])
    assert told.late == [20, 30, 40]
    assert told.responses == pytest.approx([10, 11, 10.1])


def test_a_recovery_is_from_the_first_deadline_missed_to_the_larger_runtime():
    told = ran([0, 10, 20, 30], [12, NAN, 29, 39], [(13.5, True, 700), (100, True, 300)])
    assert recovery.recoveries(told, 300, shrinks=False) == [
        recovery.Recovery(0.5, pytest.approx(NAN, nan_ok=True), 3.5, 19)]


def test_one_that_is_helped_by_a_shrink_is_not_helped_before():
    told = ran([0, 10, 20, 40], [12, NAN, 35, 45],
               [(1, False, 500), (12, True, 310), (14, False, 100), (34, True, 700),
                (60, True, 300), (61, False, 500)])
    assert recovery.recoveries(told, 300, shrinks=True) == [recovery.Recovery(0.5, 4, 24, 35)]
    assert recovery.recoveries(told, 300, shrinks=False) == [
        recovery.Recovery(0.5, pytest.approx(NAN, nan_ok=True), 2, 35)]


def test_who_has_all_of_it_again_is_not_shrunk():
    told = ran([0, 10, 50, 60], [12, 20, 62, 72], [
        (1, False, 500), (12, False, 100), (13, True, 700), (30, True, 300), (31, False, 500),
        (64, True, 700), (66, False, 100), (70, True, 800)],
        [(10.5, 10.7), (61, 61.2)])
    assert [(each.shrink, each.remedy) for each in recovery.recoveries(
        told, 300, shrinks=True)] == [(2, 3), (6, 10)]


def test_what_was_saved_is_what_was_measured(tmp_path):
    told = node_runs.Ran(10.0, [0.0], [4.0], [(1.0, 2.0)], [(3.0, True, 700)], [])
    kept = output.Folder(tmp_path).samples('run', told.arrays)
    assert recovery.recoveries(node_runs.Ran.of(kept), 300, shrinks=False) == []
    assert node_runs.Ran.of(kept).responses == [4]


def test_only_the_first_loan_counts_until_it_is_given_back():
    told = ran([0, 10, 50, 60], [12, 20, 62, 72],
               [(13, True, 700), (20, True, 800), (40, True, 300), (64, True, 700)],
               [(10.5, 10.7), (61, 61.2)])
    assert [each.remedy for each in recovery.recoveries(told, 300, shrinks=False)] == [3, 4]


def test_a_loan_that_nobody_had_missed_a_deadline_for_is_none():
    assert recovery.recoveries(ran([0], [5], [(3, True, 700)]), 300, shrinks=False) == []


def test_the_table_of_recoveries_counts_what_is_within_the_goal():
    row = dict(zip(recovery.HEADER, recovery.rows({'loan': [
        recovery.Recovery(1, NAN, 4, 12), recovery.Recovery(2, NAN, 6, NAN)]})[0], strict=True))
    assert row['samples'] == 2
    assert (row['remedy_mean_ms'], row['remedy_worst_ms'], row['remedy_within_5_ms']) == (5, 6, 1)
    assert math.isnan(row['shrink_worst_ms'])
    assert row['in_time_worst_ms'] == 12


def test_the_cases_hold_no_more_than_the_kernel_admits():
    for case in recovery.CASES.values():
        held = sum(server.runtime_us / server.period_us for server in case.servers())
        own = case.reactor_us[0] / case.reactor_us[1] if case.reactor_us else 0
        assert held + own <= 0.9
    for servers in robot.SERVERS.values():
        assert sum(server.runtime_us / server.period_us for server in servers) <= 0.95


def test_what_the_driver_missed_after_the_last_stop_is_told():
    outcome = robot.Outcome(np.array([8.0, 9.0]), np.array([18.0, 30.0, 40.0]),
                            np.array([25.0, 35.0]), 50.0)
    row = dict(zip(robot.HEADER, robot.row('too small', 'share', outcome), strict=True))
    assert (row['jobs'], row['missed'], row['skipped']) == (4, 3, 2)
    assert (row['stopped'], row['last_stop_s'], row['missed_after_that']) == (2, 0.035, 1)


@pytest.fixture
def node():
    """Skips where no node can run."""
    if reason := guest.missing() or prerequisites.missing_for_nodes():
        pytest.skip(reason)


@full.only
@pytest.mark.usefixtures('node')
def test_a_loan_is_in_effect_soon_after_the_deadline_that_was_missed(tmp_path):
    found = recovery.run(output.Folder(tmp_path), quick=True)
    recovery_pictures.draw(output.Folder(tmp_path), found)
    loans = [each.remedy for each in found['loan']]
    print(len(loans), 'loans, in ms:', loans)
    assert len(loans) >= 3
    assert sorted(loans)[len(loans) // 2] < recovery.GOAL_MS
    assert max(loans) < recovery.PAPER_MEAN
    assert (tmp_path / 'rtkube-recovery.svg').exists()


@full.only
@pytest.mark.usefixtures('node')
def test_the_driver_misses_nothing_with_a_reservation_that_is_enough(tmp_path):
    found = robot.run(output.Folder(tmp_path), quick=True)
    robot_pictures.draw(output.Folder(tmp_path), found)
    outcome = found['enough', 'none']
    print(outcome.jobs, 'jobs, the longest', outcome.responses.max(), 'ms')
    assert outcome.jobs > 100
    assert not outcome.late.size
