# SPDX-License-Identifier: Apache-2.0
"""What the kernel has given to a server."""

import itertools

import prometheus_client
import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt import usage
from nova_rt.metrics import collector
from nova_rt.metrics import servers
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
        'web': {1: usage.VcpuUsage(0, 5, 9, vcpu=0), 3: usage.VcpuUsage(0, 5, 9, vcpu=1)}}
    reservations.apply(7, holding(1, 3))
    asked.times = 0
    assert reservations.usages(running) == {
        'web': {1: usage.VcpuUsage(SHARE, 5, 9, vcpu=0),
                3: usage.VcpuUsage(SHARE, 5, 9, vcpu=1)}}
    assert asked.times == 0


def test_qemu_is_asked_again_when_its_threads_are_others(kernel):
    asked = Asked(start(kernel))
    reservations = machine_host.MachineHost(kernel, shares.HostShares.empty((SHARE,) * 4), asked)
    running = {'web': (7, holding(1, 3))}
    reservations.usages(running)
    for thread in asked.threads:
        kernel.end(thread)
    asked.threads = start(kernel, used_ns=1_000)
    assert reservations.usages(running)['web'][1] == usage.VcpuUsage(0, 1, 9, vcpu=0)


def test_a_virtual_machine_whose_qemu_is_silent_hides_itself_alone(kernel):
    asked = Asked(start(kernel))
    reservations = machine_host.MachineHost(kernel, shares.HostShares.empty((SHARE,) * 4), asked)
    assert [*reservations.usages({'db': (8, holding(0)), 'web': (7, holding(1, 3))})] == ['web']


class Scrapes:
    """Scrapes of a host on which "web" runs as domain 7."""

    def __init__(self, reservations):
        self._registry = prometheus_client.CollectorRegistry()
        self._registry.register(collector.Reservations(
            reservations, self, lambda server: (), dict))
        self.has = None

    def running(self):
        return [servers.Server('web', 'project', 7, self.has)]

    def __call__(self, has, name='nova_rt_server_used_seconds_total'):
        """Return the series of a metric: their values by their labels."""
        self.has = has
        return {frozenset(sample.labels.items()): sample.value
                for metric in self._registry.collect() for sample in metric.samples
                if sample.name == name}


def ran(kernel, thread, seconds):
    (kernel.proc / str(thread) / 'schedstat').write_text(
        f'{int(seconds * 1e9)} {int(seconds * 2e9)} 4\n')


def test_a_counter_goes_on_as_its_vcpu_moves_and_no_other_takes_its_place(kernel):
    """vCPU 0 is idle, and vCPU 1 uses all that it gets, wherever they are."""
    threads = start(kernel)
    reservations = machine_host.MachineHost(
        kernel, shares.HostShares.empty((SHARE,) * 4), Asked(threads))
    reservations.apply(7, holding(1, 3))
    scrape = Scrapes(reservations)
    seen = []
    # Either takes the place of the other in the end.
    for moved in ((1, 3), (1, 2), (2, 3), (1, 3)):
        reservations.move(7, holding(*moved))
        ran(kernel, threads[1], 100 + len(seen))
        seen.append(scrape(holding(*moved)))
    for series in set().union(*seen):
        told = [each[series] for each in seen if series in each]
        assert all(0 <= after - before <= 1 for before, after in itertools.pairwise(told))
    assert [dict(series) for series in sorted(seen[0], key=seen[0].get)] == [
        {'server': 'web', 'vcpu': '0'}, {'server': 'web', 'vcpu': '1'}]
    assert [sorted(told.values()) for told in seen] == [
        [pytest.approx(0.000005), 100 + times] for times in range(4)]


def test_a_metric_says_on_which_pcpu_each_vcpu_is(kernel):
    threads = start(kernel)
    reservations = machine_host.MachineHost(
        kernel, shares.HostShares.empty((SHARE,) * 4), Asked(threads))
    scrape = Scrapes(reservations)

    def found(has):
        return {(labels['vcpu'], labels['pcpu']): value for series, value in scrape(
            has, 'nova_rt_server_vcpu_info').items() for labels in [dict(series)]}

    reservations.apply(7, holding(1, 3))
    assert found(holding(1, 3)) == {('0', '1'): 1, ('1', '3'): 1}
    reservations.move(7, holding(2, 3))
    assert found(holding(2, 3)) == {('0', '2'): 1, ('1', '3'): 1}


def test_a_container_that_moves_is_counted_where_it_ran(groups):
    """The kernel counts by pCPU what its group used there, whenever it was there."""
    scrape = Scrapes(of_containers(groups, dialect.HCBSMulti))
    budgets = {0: '30000 0', 1: '0 30000'}
    told = []
    for pcpu, used_us in ((0, (5_000_000, 0)), (1, (5_000_000, 1_000_000)),
                          (0, (5_500_000, 1_000_000))):
        (groups / 'cpu.rt_multi_runtime_us').write_text(budgets[pcpu])
        (groups / 'cpu.rt_stat').write_text(''.join(
            f'{at} used_usec={used} nr_throttled=0 throttled_usec=0 nr_overruns=0\n'
            for at, used in enumerate(used_us)))
        told += scrape(holding(pcpu)).items()
    assert [(dict(series), value) for series, value in told] == [
        ({'server': 'web', 'pcpu': '0'}, 5), ({'server': 'web', 'pcpu': '1'}, 1),
        ({'server': 'web', 'pcpu': '0'}, 5.5)]
