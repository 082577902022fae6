# SPDX-License-Identifier: Apache-2.0
import errno

import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.testing import fake_scheduler
from nova_rt.virt import machine_host
from nova_rt.virt.cgroup import tree
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import errors

NEED = bandwidth.to_bandwidth(40_000, 100_000)


def holding(runtime_us, *pcpus):
    return ledger.Holding(
        reservation.Reservation(runtime_us, 100_000, len(pcpus)), pcpus)


@pytest.fixture
def kernel():
    return fake_scheduler.FakeScheduler(4)


@pytest.fixture
def domains():
    """The threads of each domain's vCPUs."""
    return {}


@pytest.fixture
def host(kernel, domains):
    def threads_of(number):
        if number not in domains:
            raise ProcessLookupError(f'There is no domain {number}.')
        if isinstance(domains[number], Exception):
            raise domains[number]
        return domains[number]
    return machine_host.MachineHost(
        kernel, shares.HostShares.empty([bandwidth.BW_UNIT] * 4), threads_of)


def test_a_reservation_is_on_the_chosen_pcpus_only(host, kernel, domains):
    domains[3] = kernel.start(2)
    host.apply(3, holding(40_000, 1, 3))
    assert kernel.bandwidths() == [0, NEED, 0, NEED]
    assert (host.dialect, host.empty.occupancy) == ('deadline', shares.Occupancy.CHOSEN)


def test_a_thread_that_is_no_vcpu_is_never_touched(host, kernel, domains):
    domains[3] = kernel.start(2, 'nova-rt-compute')
    with pytest.raises(errors.DeadlineError, match="in the host's pid namespace"):
        host.apply(3, holding(40_000, 0, 1))
    assert kernel.writes == []


@pytest.mark.parametrize('name', ['CPU {}/KVM', 'CPU {}/TCG'])
def test_vcpus_of_kvm_and_of_the_emulation_are_known(host, kernel, domains, name):
    domains[3] = kernel.start(1, name)
    host.apply(3, holding(40_000, 2))
    assert kernel.bandwidths() == [0, 0, NEED, 0]


def test_one_machine_that_cannot_have_its_reservation_does_not_stop_the_others(
        host, kernel, domains, caplog):
    domains.update({3: kernel.start(1), 4: errors.DeadlineError('QEMU is silent.'),
                    5: kernel.start(1)})
    kernel.refuse[domains[3][0]] = errno.EBUSY
    host.reconcile([(2, holding(40_000, 0)), (3, holding(40_000, 0)),
                    (4, holding(40_000, 1)), (5, holding(40_000, 2))])
    assert kernel.bandwidths() == [0, 0, NEED, 0]
    assert 'EBUSY' in caplog.text
    assert 'QEMU is silent.' in caplog.text


def test_qemu_is_asked_again_only_where_something_differs(host, kernel, domains):
    domains[3] = kernel.start(2)
    host.apply(3, holding(40_000, 0, 1))
    domains[3] = errors.DeadlineError('QEMU is silent.')
    host.reconcile([(3, holding(40_000, 0, 1))])
    domains[3], old = kernel.start(2), kernel.writes.copy()
    host.reconcile([(3, holding(40_000, 0, 1))])
    assert kernel.writes == old, 'the domain was asked for its threads'
    host.reconcile([(3, holding(20_000, 0, 1))])
    assert {thread for thread, _ in kernel.writes[len(old):]} == set(domains[3])


def test_a_domain_that_ended_is_asked_for_again(host, kernel, domains):
    domains[3] = kernel.start(1)
    host.apply(3, holding(40_000, 2))
    kernel.end(*domains[3])
    domains[3] = kernel.start(1)
    host.reconcile([(3, holding(40_000, 2))])
    assert kernel.bandwidths() == [0, 0, NEED, 0]


def test_a_silent_qemu_whose_vcpus_are_right_is_no_error(host, kernel, domains, caplog):
    domains[3] = kernel.start(1)
    host.apply(3, holding(40_000, 2))
    domains[3] = errors.DeadlineError('QEMU is silent.')
    host.reconcile([(3, holding(40_000, 2))])
    assert 'silent' not in caplog.text
    host.apply(3, holding(40_000, 2))
    with pytest.raises(errors.DeadlineError, match='silent'):
        host.apply(3, holding(30_000, 2))


def test_what_the_ledger_does_not_know_of_costs_nobody_elses_guarantee(host, kernel, domains):
    """The kernel admits everything, as with kernel.sched_rt_runtime_us = -1."""
    domains.update({3: kernel.start(1), 4: kernel.start(2), 5: kernel.start(1)})
    host.apply(3, holding(70_000, 1))
    with pytest.raises(machine_host.OvercommitError, match='pCPU 1 has 30% left'):
        host.apply(4, holding(40_000, 0, 1))
    held = bandwidth.to_bandwidth(70_000, 100_000)
    assert kernel.bandwidths() == [0, held, 0, 0], 'one of two vCPUs has something'
    host.apply(5, holding(30_000, 1))
    host.apply(5, holding(20_000, 1))
    kernel.end(*domains[3])
    host.apply(4, holding(40_000, 0, 1))


def test_what_a_virtual_machine_has_counts_once_when_it_is_to_have_more(
        host, kernel, domains):
    domains[3] = kernel.start(1)
    host.apply(3, holding(70_000, 1))
    host.apply(3, holding(90_000, 1))
    assert kernel.bandwidths()[1] == bandwidth.to_bandwidth(90_000, 100_000)


def test_one_that_has_its_reservation_keeps_it_whatever_else_runs(host, kernel, domains):
    """The cap was exceeded before the service started."""
    domains.update({3: kernel.start(1), 4: kernel.start(1)})
    for thread, in domains.values():
        kernel.set_affinity(thread, frozenset({1}))
        kernel.write(thread, attributes.of_reservation(holding(60_000, 1).reservation))
    host.reconcile([(3, holding(60_000, 1)), (4, holding(60_000, 1))])
    assert kernel.bandwidths()[1] == 2 * bandwidth.to_bandwidth(60_000, 100_000)


def test_a_survey_finds_what_the_vcpus_have(host, kernel, domains):
    domains.update({3: kernel.start(2), 4: kernel.start(1),
                    5: errors.DeadlineError('QEMU is silent.')})
    host.apply(3, holding(40_000, 0, 3))
    survey = host.survey({'web': 3, 'db': 4, 'lost': 5, 'gone': 6})
    assert survey.containers == {'web': [NEED, 0, 0, NEED], 'db': [0] * 4}
    assert not survey.others
    assert not any(survey.kept)


def test_nothing_is_left_of_a_machine_that_has_ended(host, kernel, domains):
    domains[3] = kernel.start(1)
    host.apply(3, holding(40_000, 0))
    kernel.end(*domains[3])
    assert host.group_of(3) is None
    host.take_back('')
    host.take_back_all()
    assert not any(kernel.bandwidths())


@pytest.fixture
def moved(host, kernel, domains):
    """A domain on pCPUs 0 and 1; what is pinned by libvirt is noted."""
    domains[3] = kernel.start(2)
    host.apply(3, holding(40_000, 0, 1))
    kernel.writes.clear()
    return domains[3]


def test_one_vcpu_moves_and_nothing_else_is_written(host, kernel, moved):
    host.move(3, holding(40_000, 0, 3))
    assert [kernel.affinity(thread) for thread in moved] == [{0}, {3}]
    assert kernel.writes == []
    host.move(3, holding(40_000, 0, 1))
    assert kernel.bandwidths() == [NEED, NEED, 0, 0]


def test_libvirt_pins_the_vcpu_by_its_number(kernel, domains):
    pinned = []

    def pin(number, vcpu, pcpu):
        pinned.append((number, vcpu, pcpu))
        kernel.pin(domains[number][vcpu], pcpu)
    host = machine_host.MachineHost(
        kernel, shares.HostShares.empty([bandwidth.BW_UNIT] * 4), domains.get, pin)
    domains[3] = kernel.start(2)
    host.apply(3, holding(40_000, 0, 1))
    assert pinned == [(3, 0, 0), (3, 1, 1)]
    pinned.clear()
    host.apply(3, holding(50_000, 0, 1))
    assert pinned == []
    host.apply(3, holding(40_000, 0, 1))
    host.move(3, holding(40_000, 0, 3))
    assert pinned == [(3, 1, 3)]


def test_where_the_kernel_admits_nothing_is_moved_but_all_may_stay(host, kernel, moved):
    kernel.admits = True
    with pytest.raises(errors.DeadlineError, match='set it to -1, or leave the server there'):
        host.move(3, holding(40_000, 0, 3))
    host.move(3, holding(40_000, 0, 1))
    assert kernel.bandwidths() == [NEED, NEED, 0, 0]


def test_nobody_is_overcommitted_by_a_move(host, kernel, domains, moved):
    domains[4] = kernel.start(1)
    host.apply(4, holding(70_000, 3))
    with pytest.raises(machine_host.OvercommitError, match='pCPU 3 has 30% left'):
        host.move(3, holding(40_000, 0, 3))
    assert kernel.bandwidths()[:2] == [NEED, NEED]


def test_a_vcpu_whose_pcpu_is_offline_does_not_stop_the_others(host, kernel, domains, caplog):
    domains.update({3: kernel.start(1), 4: kernel.start(1)})
    host.apply(3, holding(20_000, 3))
    kernel.offline.add(3)
    host.reconcile([(3, holding(40_000, 3)), (4, holding(40_000, 1))])
    assert kernel.bandwidths()[1] == NEED
    assert 'the CPU is offline' in caplog.text


def test_a_cpuset_that_cannot_change_does_not_stop_the_others(
        kernel, domains, tmp_path, caplog):
    """nova-rt-compute does not see the groups of the threads, or one is not its to change."""
    domains.update({3: kernel.start(1), 4: kernel.start(1)})
    (tmp_path / '1000').mkdir()
    (tmp_path / '1000/cgroup').write_text('1:cpuset:/../elsewhere\n')
    kernel.set_affinity(1001, frozenset({1}))
    host = machine_host.MachineHost(
        kernel, shares.HostShares.empty([bandwidth.BW_UNIT] * 4), domains.__getitem__,
        cpusets=tree.CgroupTree(tmp_path / 'cpuset', 1, tmp_path, 'cpuset'))
    host.reconcile([(3, holding(40_000, 3)), (4, holding(40_000, 1))])
    assert kernel.bandwidths() == [0, NEED, 0, 0]
    assert 'elsewhere' in caplog.text


def test_what_would_be_refused_when_it_has_arrived_is_not_even_sent(host, kernel, domains):
    """A virtual machine runs of which the ledger does not know."""
    domains[3] = kernel.start(1)
    host.apply(3, holding(70_000, 1))
    host.try_out(holding(30_000, 1))
    with pytest.raises(machine_host.OvercommitError, match='pCPU 1 has 30% left'):
        host.try_out(holding(40_000, 0, 1))
