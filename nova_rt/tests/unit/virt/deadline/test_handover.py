# SPDX-License-Identifier: Apache-2.0
import itertools
import os
import time

import pytest

from nova_rt import reservation
from nova_rt.testing import fake_scheduler
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import handover
from nova_rt.virt.deadline.scheduler import Budget

SHORT = attributes.of_reservation(reservation.Reservation(1_000, 10_000, 1))
RUNS = Budget(400_000, 5_000)


@pytest.fixture
def kernel(monkeypatch):
    monkeypatch.setattr(handover, '_PATIENCE_S', 0.05)
    return fake_scheduler.FakeScheduler(2)


def started(kernel, state, budgets):
    thread, = kernel.start(1)
    kernel.pin(thread, 0)
    kernel.write(thread, SHORT)
    kernel.states[thread] = state
    kernel.budgets[thread] = iter(budgets)
    return thread


def test_a_thread_that_sleeps_goes_at_once(kernel, caplog):
    thread = started(kernel, 'S', itertools.repeat(RUNS))
    handover.take(kernel, thread, 1)
    assert kernel.affinity(thread) == {1}
    assert not caplog.records


@pytest.mark.parametrize('then', [Budget(0, 5_000), Budget(-100, 5_000), Budget(900_000, 15_000)],
                         ids=['used up', 'overrun', 'another period'])
def test_a_thread_that_runs_goes_when_its_budget_is_used_up_or_new(
        kernel, then, caplog, monkeypatch):
    monkeypatch.setattr(handover, '_FRESH_S', 10)
    thread = started(kernel, 'R', itertools.chain([RUNS] * 3, [then], itertools.repeat(RUNS)))
    handover.take(kernel, thread, 1)
    assert kernel.affinity(thread) == {1}
    assert not caplog.records
    # It was asked no further.
    assert next(kernel.budgets[thread]) == RUNS


@pytest.mark.parametrize('told', [RUNS, None], ids=['stands still', 'not told'])
def test_what_is_not_seen_in_time_is_logged(kernel, told, caplog):
    thread = started(kernel, 'R', itertools.repeat(told))
    handover.take(kernel, thread, 1)
    assert kernel.affinity(thread) == {1}
    assert 'in the middle of its period' in caplog.text


def test_a_period_that_began_while_the_mover_was_kept_waiting_is_not_new(kernel, caplog):
    def late():
        yield RUNS
        time.sleep(2 * handover._FRESH_S)
        yield from itertools.repeat(Budget(500_000, 15_000))
    thread = started(kernel, 'R', late())
    handover.take(kernel, thread, 1)
    assert 'in the middle of its period' in caplog.text


def test_a_thread_that_ends_meanwhile_is_told(kernel):
    def end():
        yield RUNS
        kernel.end(thread)
        yield RUNS
    thread = started(kernel, 'R', [])
    kernel.budgets[thread] = end()
    with pytest.raises(ProcessLookupError, match='has ended'):
        handover.take(kernel, thread, 1)


def test_normal_tasks_do_not_keep_it_waiting_and_it_is_as_it_was_then(kernel, monkeypatch):
    chosen = []
    monkeypatch.setattr(os, 'sched_setscheduler', lambda _, policy, __: chosen.append(policy))
    handover.take(kernel, started(kernel, 'S', itertools.repeat(RUNS)), 1)
    assert chosen == [os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_getscheduler(0)]


def test_where_it_may_not_be_urgent_it_is_taken_all_the_same(kernel, monkeypatch):
    def refuse(*_):
        raise PermissionError
    monkeypatch.setattr(os, 'sched_setscheduler', refuse)
    thread = started(kernel, 'S', itertools.repeat(RUNS))
    handover.take(kernel, thread, 1)
    assert kernel.affinity(thread) == {1}
