# SPDX-License-Identifier: Apache-2.0
import itertools

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
    handover.wait(kernel, started(kernel, 'S', itertools.repeat(RUNS)))
    assert not caplog.records


@pytest.mark.parametrize('then', [Budget(0, 5_000), Budget(-100, 5_000), Budget(900_000, 15_000)],
                         ids=['used up', 'overrun', 'another period'])
def test_a_thread_that_runs_goes_when_its_budget_is_used_up_or_new(kernel, then, caplog):
    thread = started(kernel, 'R', itertools.chain([RUNS] * 3, [then], itertools.repeat(RUNS)))
    handover.wait(kernel, thread)
    assert not caplog.records
    # It was asked no further.
    assert next(kernel.budgets[thread]) == RUNS


@pytest.mark.parametrize('told', [RUNS, None], ids=['stands still', 'not told'])
def test_what_is_not_seen_in_time_is_logged(kernel, told, caplog):
    handover.wait(kernel, started(kernel, 'R', itertools.repeat(told)))
    assert 'in the middle of its period' in caplog.text


def test_a_thread_that_ends_meanwhile_is_told(kernel):
    def end():
        yield RUNS
        kernel.end(thread)
        yield RUNS
    thread = started(kernel, 'R', [])
    kernel.budgets[thread] = end()
    with pytest.raises(ProcessLookupError, match='has ended'):
        handover.wait(kernel, thread)
