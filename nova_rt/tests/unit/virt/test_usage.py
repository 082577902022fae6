# SPDX-License-Identifier: Apache-2.0
"""What the kernel has given to a server."""

import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt import usage
from nova_rt.testing import fake_scheduler
from nova_rt.virt import container_host
from nova_rt.virt import machine_host
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import tree
from nova_rt.virt.deadline import errors

SHARE = bandwidth.to_bandwidth(30_000, 100_000)
STATISTICS = """\
0 used_usec=1200 nr_throttled=3 throttled_usec=70 nr_overruns=1
1 used_usec=0 nr_throttled=0 throttled_usec=0 nr_overruns=0
"""


def holding(*pcpus):
    return ledger.Holding(reservation.Reservation(30_000, 100_000, len(pcpus)), pcpus)


@pytest.fixture
def groups(tmp_path):
    """Files of control groups: that of a container, whose controller is process 7."""
    group = tmp_path / 'cpu/machine/web'
    group.mkdir(parents=True)
    (tmp_path / 'proc/7').mkdir(parents=True)
    (tmp_path / 'proc/self').mkdir()
    (tmp_path / 'proc/7/cgroup').write_text('3:cpu:/machine/web\n')
    (tmp_path / 'proc/self/mounts').write_text(
        f'cgroup {tmp_path}/account cgroup rw,cpuacct 0 0\n')
    (group / 'cpu.rt_period_us').write_text('100000')
    return group


def of_containers(groups, spoken):
    found = spoken(tree.CgroupTree(groups.parents[1], 1, groups.parents[2] / 'proc'), 2)
    return container_host.ContainerHost(found, shares.HostShares.empty((SHARE, SHARE)))


def test_our_kernel_counts_budgets_of_groups(groups):
    (groups / 'cpu.rt_multi_runtime_us').write_text('30000 0')
    (groups / 'cpu.rt_stat').write_text(STATISTICS)
    assert of_containers(groups, dialect.HCBSMulti).usages({'web': (7, holding(0))}) == {
        'web': {0: usage.Usage(SHARE, 1_200, 70, 3, 1)}}


@pytest.mark.parametrize(('counted', 'used_us'), [(True, 1), (False, None)])
def test_a_stock_kernel_counts_cpu_time_alone_if_at_all(groups, counted, used_us):
    (groups / 'cpu.rt_runtime_us').write_text('30000')
    if counted:
        account = groups.parents[2] / 'account/machine/web'
        account.mkdir(parents=True)
        (account / 'cpuacct.usage_percpu').write_text('0 1500 \n')
    else:
        (groups.parents[2] / 'proc/self/mounts').write_text('')
    assert of_containers(groups, dialect.RTGroup).usages({'web': (7, holding(1))}) == {
        'web': {1: usage.Usage(SHARE, used_us)}}


def test_a_container_that_has_just_ended_is_left_out(groups):
    reservations = of_containers(groups, dialect.RTGroup)
    (groups / 'cpu.rt_period_us').unlink()
    assert reservations.usages({'web': (7, holding(1)), 'db': (8, holding(1))}) == {}


def test_a_host_that_offers_nothing_has_given_nothing():
    assert container_host.ContainerHost(None, shares.HostShares.empty((0,))).usages(
        {'web': (7, holding(0))}) == {}


class Asked:
    """QEMU, which says which threads run the vCPUs of domain 7."""

    def __init__(self, threads):
        self.threads = threads
        self.times = 0

    def __call__(self, number):
        self.times += 1
        if number != 7:
            raise errors.DeadlineError('QEMU does not answer.')
        return self.threads


@pytest.fixture
def kernel(tmp_path):
    (tmp_path / 'sys/kernel').mkdir(parents=True)
    for name, value in (('runtime', -1), ('period', 1_000_000)):
        (tmp_path / f'sys/kernel/sched_rt_{name}_us').write_text(str(value))
    return fake_scheduler.FakeScheduler(proc=tmp_path)


def start(kernel, used_ns=5_000):
    """Start two vCPUs; return their threads."""
    threads = kernel.start(2)
    for thread in threads:
        (kernel.proc / str(thread)).mkdir()
        (kernel.proc / str(thread) / 'schedstat').write_text(f'{used_ns} 9000 4\n')
    return threads


def test_the_kernel_counts_what_vcpus_ran_and_waited(kernel):
    asked = Asked(start(kernel))
    reservations = machine_host.MachineHost(kernel, shares.HostShares.empty((SHARE,) * 4), asked)
    running = {'web': (7, holding(1, 3))}
    assert reservations.usages(running) == {
        'web': dict.fromkeys((1, 3), usage.Usage(0, 5, 9))}
    reservations.apply(7, holding(1, 3))
    asked.times = 0
    assert reservations.usages(running) == {
        'web': dict.fromkeys((1, 3), usage.Usage(SHARE, 5, 9))}
    assert asked.times == 0


def test_qemu_is_asked_again_when_its_threads_are_others(kernel):
    asked = Asked(start(kernel))
    reservations = machine_host.MachineHost(kernel, shares.HostShares.empty((SHARE,) * 4), asked)
    running = {'web': (7, holding(1, 3))}
    reservations.usages(running)
    for thread in asked.threads:
        kernel.end(thread)
    asked.threads = start(kernel, used_ns=1_000)
    assert reservations.usages(running)['web'][1] == usage.Usage(0, 1, 9)


def test_a_virtual_machine_whose_qemu_is_silent_hides_itself_alone(kernel):
    asked = Asked(start(kernel))
    reservations = machine_host.MachineHost(kernel, shares.HostShares.empty((SHARE,) * 4), asked)
    assert [*reservations.usages({'db': (8, holding(0)), 'web': (7, holding(1, 3))})] == ['web']
