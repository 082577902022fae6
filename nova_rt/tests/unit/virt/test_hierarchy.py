# SPDX-License-Identifier: Apache-2.0
import errno

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth
from nova_rt import reservation
from nova_rt.testing import fake_kernel
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy

LEAF = 'machine.slice/one.scope/libvirt'


def on_chosen(runtime_us, period_us, *pcpus):
    wanted = reservation.Reservation(runtime_us, period_us, len(pcpus))
    return budget.on_chosen(wanted, pcpus, 4)


@pytest.fixture
def kernel():
    return fake_kernel.FakeKernel(multi=True)


@pytest.fixture
def groups(kernel):
    return hierarchy.Hierarchy(detect.detect(kernel, 4))


def test_three_new_levels_get_the_budget_from_the_top_down(kernel, groups):
    kernel.start(7, LEAF)
    kernel.writes.clear()
    groups.apply(LEAF, on_chosen(40_000, 100_000, 3, 1))
    order = list(dict.fromkeys(group for group, _, _ in kernel.writes))
    assert order == ['machine.slice', 'machine.slice/one.scope', LEAF]
    need = bandwidth.to_bandwidth(40_000, 100_000)
    assert kernel.bandwidths(LEAF) == [0, need, 0, need]


def test_the_groups_above_hold_what_all_children_hold(kernel, groups):
    kernel.start(7, 'machine/one')
    kernel.start(8, 'machine/two')
    groups.apply('machine/one', on_chosen(40_000, 100_000, 0))
    groups.apply('machine/two', on_chosen(1_000, 3_000, 0))
    below = [a + b for a, b in zip(kernel.bandwidths('machine/one'),
                                   kernel.bandwidths('machine/two'),
                                   strict=True)]
    above = kernel.bandwidths('machine')
    assert all(a >= b for a, b in zip(above, below, strict=True))
    # Rounding up to a whole µs of the parent's period is all it may exceed.
    assert above[0] - below[0] <= bandwidth.BW_UNIT // 1_000_000 + 1


def test_a_refusal_gives_back_what_was_raised_for_it(kernel, groups):
    kernel.start(7, 'machine/one')
    kernel.start(8, 'machine/two')
    groups.apply('machine/one', on_chosen(60_000, 100_000, 0))
    before = kernel.bandwidths('machine')
    with pytest.raises(errors.KernelRefusalError) as refusal:
        groups.apply('machine/two', on_chosen(60_000, 100_000, 0))
    assert refusal.value.errno == errno.EINVAL
    assert 'more than the parent group or the global limit' in str(
        refusal.value)
    assert kernel.bandwidths('machine') == before
    assert kernel.bandwidths('machine/two') == [0] * 4


def test_a_refusal_of_the_leaf_itself_gives_back_what_was_raised(
        kernel, groups):
    kernel.start(7, 'machine/one')
    leaf = on_chosen(60_000, 1_000_000, 0)

    def refuse(group, name, text, write=kernel.write):
        if group == 'machine/one':
            kernel.refuse_next = errno.EBUSY
        write(group, name, text)
    kernel.write = refuse
    with pytest.raises(errors.KernelRefusalError):
        groups.apply('machine/one', leaf)
    assert kernel.bandwidths('machine') == [0] * 4


def test_an_ended_container_leaves_nothing_above_it(kernel, groups):
    kernel.start(7, LEAF)
    groups.apply(LEAF, on_chosen(40_000, 100_000, 3, 1))
    kernel.stop(7)
    groups.take_back(LEAF)
    assert kernel.bandwidths('machine.slice') == [0] * 4


def test_what_the_kernel_will_not_take_back_yet_is_tried_again(
        kernel, groups, monkeypatch):
    kernel.start(7, 'machine/one')
    groups.apply('machine/one', on_chosen(40_000, 100_000, 0))
    kernel.stop(7)
    kernel.refuse_next = errno.EINVAL
    monkeypatch.setattr(hierarchy.time, 'sleep', lambda seconds: None)
    groups.take_back('machine/one')
    assert kernel.bandwidths('machine') == [0] * 4


def test_a_container_whose_group_lingers_is_waited_for(kernel, groups,
                                                       monkeypatch):
    kernel.start(7, 'machine/one')
    groups.apply('machine/one', on_chosen(40_000, 100_000, 0))
    monkeypatch.setattr(hierarchy.time, 'sleep',
                        lambda seconds: kernel.pids and kernel.stop(7))
    groups.take_back('machine/one')
    assert kernel.bandwidths('machine') == [0] * 4


def test_a_group_without_control_files_is_an_error(kernel, groups):
    with pytest.raises(errors.MissingControlFileError, match='has gone'):
        groups.apply('machine/none', on_chosen(40_000, 100_000, 0))


@given(changes=st.lists(st.tuples(
    st.integers(2, 200_000), st.sampled_from([1_000, 10_000, 100_000,
                                              300_000])), max_size=6))
def test_no_change_of_runtime_and_period_breaks_a_rule_in_between(changes):
    kernel = fake_kernel.FakeKernel(multi=True)
    groups = hierarchy.Hierarchy(detect.detect(kernel, 4))
    kernel.start(7, 'machine/one')
    for runtime_us, period_us in changes:
        runtime_us = min(runtime_us, period_us * 9 // 10)
        wanted = on_chosen(runtime_us, period_us, 0, 2)
        groups.apply('machine/one', wanted)
        assert groups.holds('machine/one', wanted)
        assert kernel.bandwidths('machine')[1] == 0


@pytest.mark.parametrize('wanted', [
    on_chosen(60_000, 200_000, 0, 1), on_chosen(60_000, 100_000, 0, 1),
    on_chosen(10_000, 50_000, 0, 1), on_chosen(40_000, 50_000, 0, 1)])
@pytest.mark.parametrize('written', range(4))
def test_whichever_write_is_refused_a_running_container_has_all_it_had(
        kernel, groups, wanted, written):
    kernel.start(7, 'machine/one')
    old = on_chosen(50_000, 100_000, 0, 1)
    groups.apply('machine/one', old)
    kernel.writes.clear()
    write = kernel.write

    def refuse(group, name, text):
        if len(kernel.writes) == written:
            kernel.refuse_next = errno.EBUSY
        write(group, name, text)
    kernel.write = refuse
    try:
        groups.apply('machine/one', wanted)
    except errors.KernelRefusalError:
        expected = old
    else:
        expected = wanted
    assert groups.holds('machine/one', expected)
    kernel.write = write
    groups.take_back('machine/ended')
    assert kernel.bandwidths('machine')[0] - expected.bandwidths[0] <= 2


@given(*[st.tuples(st.integers(2, 1_000_000), st.integers(100, 1_000_000))
         .filter(lambda times: times[0] <= times[1] * 9 // 10)] * 2)
def test_a_change_never_gives_more_than_the_larger_in_between(old, new):
    kernel = fake_kernel.FakeKernel(multi=True)
    groups = hierarchy.Hierarchy(detect.detect(kernel, 4))
    kernel.start(7, 'machine/one')
    groups.apply('machine/one', on_chosen(*old, 0))
    most = max(bandwidth.to_bandwidth(*times) for times in (old, new))
    write = kernel.write

    def watch(*written):
        write(*written)
        assert kernel.bandwidths('machine/one')[0] <= most
    kernel.write = watch
    groups.apply('machine/one', on_chosen(*new, 0))
