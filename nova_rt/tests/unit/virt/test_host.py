# SPDX-License-Identifier: Apache-2.0
import errno

from oslo_config import cfg
import pytest

from nova_rt import bandwidth
from nova_rt import conf
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.testing import fake_kernel
from nova_rt.testing import fake_proc
from nova_rt.virt import container_host
from nova_rt.virt import cpus
from nova_rt.virt import host
from nova_rt.virt import this_host
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup import limits
from nova_rt.virt.cgroup import tree


def holding(runtime_us, *pcpus):
    return ledger.Holding(
        reservation.Reservation(runtime_us, 100_000, len(pcpus)), pcpus)


def host_with(kernel):
    detected = detect.detect(kernel, kernel.count)
    return container_host.ContainerHost(detected, shares.HostShares.empty(
        [detected.admitted()] * kernel.count, detected.occupancy))


def options(**values):
    conf_ = cfg.ConfigOpts()
    conf_([])
    conf.register_opts(conf_)
    for name, value in values.items():
        conf_.set_override(name, value, group='rt')
    return conf_


@pytest.fixture
def kernel():
    return fake_kernel.FakeKernel(multi=True)


def test_a_started_container_gets_its_budget_on_its_pcpus_only(kernel):
    kernel.start(7, 'machine/one')
    host_with(kernel).apply(7, holding(40_000, 3, 2, 0))
    need = bandwidth.to_bandwidth(40_000, 100_000)
    assert kernel.bandwidths('machine/one') == [need, 0, need, need]


def test_a_stock_kernel_gives_the_budget_on_every_pcpu():
    kernel = fake_kernel.FakeKernel()
    kernel.start(7, 'machine/one')
    host_with(kernel).apply(7, holding(40_000, 1))
    assert kernel.bandwidths('machine/one') == [
        bandwidth.to_bandwidth(40_000, 100_000)] * 4


def test_a_budget_that_is_in_place_is_not_written_again(kernel):
    kernel.start(7, 'machine/one')
    machine = host_with(kernel)
    machine.apply(7, holding(40_000, 0))
    kernel.writes.clear()
    machine.apply(7, holding(40_000, 0))
    assert kernel.writes == []


def test_one_that_was_cut_off_in_a_move_goes_back_before_its_budget_does(kernel, tmp_path):
    """Its domain says what it had before: a service that starts finds no other trace."""
    kernel.start(7, 'machine/one')
    (tmp_path / 'machine/one').mkdir(parents=True)
    (tmp_path / 'machine/one/cpuset.cpus').write_text('0')
    seen = []

    class Cpusets(tree.CgroupTree):
        def write(self, group, name, text):
            (tmp_path / group / name).write_text(text)
            seen.append((cpus.parse(text), held()))

    def held():
        return frozenset(pcpu for pcpu, has in enumerate(
            kernel.bandwidths('machine/one')) if has)

    def look(group, name, text, write=kernel.write):
        write(group, name, text)
        seen.append((cpus.parse((tmp_path / 'machine/one/cpuset.cpus').read_text()), held()))
    kernel.write = look

    def start():
        detected = detect.detect(kernel, kernel.count)
        return container_host.ContainerHost(
            detected, shares.HostShares.empty(
                [detected.admitted()] * kernel.count, detected.occupancy),
            cpusets=Cpusets(tmp_path, 1))
    start().apply(7, holding(40_000, 0))
    start().move(7, holding(40_000, 1))
    seen.clear()
    start().reconcile([(7, holding(40_000, 0))])
    assert held() == {0}
    assert [runs & has for runs, has in seen if not runs & has] == []


def test_one_that_cannot_be_confined_has_what_it_had_and_can_be_given_that(
        kernel, tmp_path, caplog):
    """Somebody else has confined it elsewhere, and the kernel does not let us."""
    kernel.start(7, 'machine/one')
    (tmp_path / 'machine/one').mkdir(parents=True)
    confined = tmp_path / 'machine/one/cpuset.cpus'
    confined.write_text('1')

    class Cpusets(tree.CgroupTree):
        def write(self, group, name, text):
            raise errors.kernel_refusal(group, name, text, errno.EBUSY)
    detected = detect.detect(kernel, kernel.count)
    machine = container_host.ContainerHost(
        detected, shares.HostShares.empty(
            [detected.admitted()] * kernel.count, detected.occupancy),
        cpusets=Cpusets(tmp_path, 1))
    machine.apply(7, holding(40_000, 1))
    before = kernel.bandwidths('machine/one')
    confined.write_text('0')
    with pytest.raises(errors.KernelRefusalError, match='cpuset'):
        machine.apply(7, holding(60_000, 1))
    assert kernel.bandwidths('machine/one') == before
    machine.apply(7, holding(40_000, 1))
    assert kernel.bandwidths('machine/one') == before
    assert 'not where its reservation is' in caplog.text


def test_reconciling_applies_what_is_missing_and_takes_back_what_is_left(
        kernel):
    machine = host_with(kernel)
    kernel.start(7, 'machine/one')
    kernel.start(8, 'machine/two')
    machine.apply(7, holding(40_000, 0))
    kernel.stop(7)
    machine.reconcile([(8, holding(20_000, 1))])
    need = bandwidth.to_bandwidth(20_000, 100_000)
    assert kernel.bandwidths('machine/two') == [0, need, 0, 0]
    assert kernel.bandwidths('machine') == [0, need, 0, 0]


def test_one_container_that_cannot_have_its_budget_does_not_stop_the_others(
        kernel):
    machine = host_with(kernel)
    kernel.start(8, 'machine/two')
    machine.reconcile([(7, holding(40_000, 0)), (8, holding(20_000, 1))])
    assert kernel.bandwidths('machine/two')[1]


def test_a_refusal_leaves_the_kernel_as_it_was(kernel):
    machine = host_with(kernel)
    kernel.start(7, 'machine/one')
    kernel.refuse_containers = errno.EINVAL
    with pytest.raises(errors.KernelRefusalError):
        machine.apply(7, holding(40_000, 0))
    assert kernel.bandwidths('machine') == [0] * 4


def test_a_container_that_ended_a_moment_ago_does_not_keep_the_next_waiting(
        kernel, monkeypatch):
    machine = host_with(kernel)
    kernel.start(7, 'machine/one')
    machine.apply(7, holding(40_000, 0))
    kernel.stop_and_linger(7)
    kernel.start(8, 'machine/two')
    monkeypatch.setattr(hierarchy.time, 'sleep',
                        lambda seconds: kernel.let_go())
    machine.apply(8, holding(40_000, 0))
    assert kernel.bandwidths('machine/two') == kernel.bandwidths('machine')


def test_a_host_that_is_turned_off_offers_a_share_of_0():
    machine = this_host.from_options(
        options(hcbs_scheduler_available=False))
    assert machine.empty.rt_share == 0
    assert machine.dialect == 'none'
    with pytest.raises(host.UnavailableError):
        machine.apply(1, holding(40_000, 0))


def test_a_kernel_without_real_time_groups_is_an_error_at_start(monkeypatch):
    monkeypatch.setattr(tree.CgroupTree, 'find', classmethod(
        lambda cls, **_: None))
    with pytest.raises(host.UnavailableError,
                       match='boot a kernel with HCBS or RT_GROUP_SCHED'):
        this_host.from_options(options())


@pytest.mark.parametrize('cpu_set', ['two', '3-1', '-1', '^', '^x', '1-^2', ',', '0,^0'])
def test_a_cpu_set_that_is_no_list_or_empty_is_an_error_at_start(cpu_set):
    with pytest.raises(host.UnavailableError) as refusal:
        this_host.from_options(options(cpu_set=cpu_set))
    assert str(refusal.value) == (
        f"[rt] cpu_set is '{cpu_set}': write numbers, ranges and what to leave out "
        'of them, for example 2-7,^4,10.')


def test_a_wrong_cpu_set_is_quoted_in_part_if_it_is_long():
    with pytest.raises(host.UnavailableError) as refusal:
        this_host.from_options(options(cpu_set='x' * 1000))
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(('cpu_set', 'pcpus'), [
    ('2-7,^3', {2, 4, 5, 6, 7}), ('^3,2-7', {2, 4, 5, 6, 7}),
    ('0-7,^2-5', {0, 1, 6, 7}), ('1,,2', {1, 2}), (' 0 , 4 ', {0, 4}),
    ('0-1,4', {0, 1, 4})])
def test_a_cpu_set_is_read_as_nova_reads_its_own(cpu_set, pcpus, monkeypatch):
    monkeypatch.setattr(cpus, 'present', lambda: frozenset(range(8)))
    monkeypatch.setattr(cpus, 'online', lambda: frozenset(range(8)))
    kernel = fake_kernel.FakeKernel(count=8, multi=True)
    monkeypatch.setattr(tree.CgroupTree, 'find', classmethod(
        lambda cls, **_: kernel))
    capacity = this_host.from_options(options(cpu_set=cpu_set)).empty.capacity
    assert {pcpu for pcpu, most in enumerate(capacity) if most} == pcpus


def test_a_cpu_set_with_pcpus_that_are_not_there_is_an_error_at_start():
    with pytest.raises(host.UnavailableError, match='4095, which are not online'):
        this_host.from_options(options(cpu_set='0,4095'))


def test_only_the_pcpus_of_the_cpu_set_have_a_capacity(kernel, monkeypatch):
    monkeypatch.setattr(tree.CgroupTree, 'find', classmethod(
        lambda cls, **_: kernel))
    machine = this_host.from_options(options(cpu_set='0', cap=0.5))
    assert machine.empty.capacity == (bandwidth.BW_UNIT // 2, 0, 0, 0)


def test_the_capacity_is_no_more_than_what_the_kernel_admits(monkeypatch):
    monkeypatch.setattr(tree.CgroupTree, 'find', classmethod(
        lambda cls, **_: fake_kernel.FakeKernel()))
    machine = this_host.from_options(options(cap=1.0, cpu_set='0'))
    assert machine.empty.capacity[0] == bandwidth.to_bandwidth(
        *fake_kernel.ROOT_LIMIT)


def test_a_stock_kernel_told_to_enforce_nothing_is_an_error_at_start(
        monkeypatch, tmp_path):
    fake_proc.write(tmp_path, sched_rt_runtime_us=-1)
    monkeypatch.setattr(tree.CgroupTree, 'find', classmethod(
        lambda cls, **_: fake_kernel.FakeKernel(proc=tmp_path)))
    with pytest.raises(host.UnavailableError, match='set it to 950000'):
        this_host.from_options(options())


def test_a_kernel_whose_limit_its_own_servers_take_is_an_error_at_start(
        kernel, monkeypatch):
    monkeypatch.setattr(tree.CgroupTree, 'find', classmethod(
        lambda cls, **_: kernel))
    monkeypatch.setattr(limits, 'global_limit', lambda proc: 0)
    with pytest.raises(host.UnavailableError, match='set it to 950000'):
        this_host.from_options(options())


@pytest.mark.parametrize('group', ['', 'system.slice'])
def test_a_budget_is_not_written_to_a_group_that_is_no_container_s(
        kernel, group):
    kernel.start(7, group)
    machine = host_with(kernel)
    kernel.writes.clear()
    with pytest.raises(ProcessLookupError, match='has ended'):
        machine.apply(7, holding(40_000, 0))
    assert kernel.writes == []


@pytest.mark.parametrize(('name', 'inner'), [
    ('machine/lxc-7-web.libvirt-lxc', ''),
    ('machine.slice/machine-lxc\\x2d7\\x2dweb.scope', '/libvirt')])
def test_a_container_whose_processes_are_not_seen_is_known_by_its_group(
        kernel, name, inner):
    neighbour = name.replace('7', '77')
    kernel.start(77, neighbour + inner)
    kernel.start(7, name + inner)
    kernel.pids.clear()
    machine = host_with(kernel)
    assert machine.group_of(7) == name + inner
    machine.apply(7, holding(40_000, 0))
    assert any(kernel.bandwidths(name + inner))
    assert not any(kernel.bandwidths(neighbour + inner))


def test_a_process_outside_is_not_taken_for_a_container_of_its_number(kernel):
    kernel.start(7, 'docker/nova-compute')
    kernel.start(8, 'machine/lxc-7-web.libvirt-lxc')
    assert host_with(kernel).group_of(7) == 'machine/lxc-7-web.libvirt-lxc'
