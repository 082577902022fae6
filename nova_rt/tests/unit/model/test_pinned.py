# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt.model import checks
from nova_rt.model import pinned
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_

PERIODS = [1000, 5000, 10_000]
SETS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([8_000, 20_000, 50_000, 100_000])).map(
        lambda pair: tasks_.Task(pair[1] * pair[0] // 100, pair[1])),
    min_size=1, max_size=8)
LOCAL = st.sampled_from(sorted(synthesis.SCHEDULERS))


def assert_each_vcpu_suffices(tasks, found, local, overhead_us=0):
    """Assert it by the test for one vCPU, which knows nothing of others."""
    resource = found.resource
    one = supply.Resource(resource.runtime_us - overhead_us, resource.period_us)
    members = [found.on(vcpu) for vcpu in range(resource.vcpus)]
    assert sorted(itertools.chain(*members)) == list(range(len(tasks)))
    for on_one in filter(None, members):
        assert synthesis.scheduler(local)([tasks[index] for index in on_one], one).schedulable


@given(SETS, LOCAL, st.integers(0, 20))
def test_every_vcpu_suffices_for_its_tasks(tasks, local, overhead_us):
    found = pinned.least(tasks, PERIODS, None, local, Fraction(95, 100), overhead_us)
    assert_each_vcpu_suffices(tasks, found, local, overhead_us)
    assert found.resource.bandwidth >= tasks_.utilisation(tasks)
    assert found.resource.bandwidth / found.resource.vcpus <= Fraction(95, 100)


@given(SETS, LOCAL)
def test_a_microsecond_less_does_not_suffice(tasks, local):
    found = pinned.least(tasks, PERIODS, None, local)
    less = supply.Resource(found.resource.runtime_us - 1 or 1, found.resource.period_us)
    verdicts = [
        synthesis.scheduler(local)([tasks[index] for index in found.on(vcpu)], less)
        for vcpu in range(found.resource.vcpus) if found.on(vcpu)]
    assert found.resource.runtime_us == 1 or not all(
        answer.schedulable for answer in verdicts)


@given(SETS, LOCAL)
def test_on_one_vcpu_it_is_the_analysis_of_one_vcpu(tasks, local):
    alone = [synthesised.resource for period in PERIODS if (
        synthesised := synthesis.least_runtime(tasks, period, 1, local))]
    if not alone:
        with pytest.raises(checks.ModelError, match='No reservation of 1 vCPU'):
            pinned.least(tasks, PERIODS, 1, local)
        return
    assert pinned.least(tasks, PERIODS, 1, local).resource.bandwidth == min(
        resource.bandwidth for resource in alone)


@given(SETS, LOCAL, st.integers(1, 4), st.integers(1000, 10_000))
def test_tasks_are_put_where_they_fit_or_refused(tasks, local, vcpus, runtime):
    resource = supply.Resource(runtime * vcpus, 10_000, vcpus)
    try:
        found = pinned.assign(tasks, resource, local)
    except checks.ModelError:
        # On one vCPU there is no choice.
        assert vcpus > 1 or not synthesis.scheduler(local)(tasks, resource).schedulable
    else:
        assert_each_vcpu_suffices(tasks, found, local)


def test_what_is_found_is_taken():
    tasks = [tasks_.Task(4000, 20_000)] * 12
    found = pinned.least(tasks, PERIODS)
    again = pinned.assign(tasks, found.resource)
    assert_each_vcpu_suffices(tasks, again, 'fp')


def test_bounds_are_those_of_each_vcpu():
    tasks = [tasks_.Task(3000, 10_000), tasks_.Task(3000, 10_000)]
    found = pinned.assign(tasks, supply.Resource(16_000, 10_000, 2))
    alone = synthesis.scheduler('fp')(tasks[:1], supply.Resource(8000, 10_000))
    assert found.response_us == [alone.response_us[0]] * 2
    assert found.slack_us == alone.slack_us
    assert pinned.assign(tasks, supply.Resource(16_000, 10_000, 2), 'edf').response_us == [
        None, None]
