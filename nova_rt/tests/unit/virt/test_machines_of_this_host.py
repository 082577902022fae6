# SPDX-License-Identifier: Apache-2.0
"""A host for virtual machines, by its options."""


from oslo_config import cfg
import pytest

from nova_rt import bandwidth
from nova_rt import conf
from nova_rt import shares
from nova_rt.testing import fake_proc
from nova_rt.testing import fake_scheduler
from nova_rt.virt import containers
from nova_rt.virt import cpus
from nova_rt.virt import host
from nova_rt.virt import kinds
from nova_rt.virt import machines
from nova_rt.virt import this_host
from nova_rt.virt.cgroup import limits
from nova_rt.virt.cgroup.doctor import finding
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import scheduler


@pytest.fixture
def options():
    """Nova's options, as far as they concern the kind."""
    options = cfg.ConfigOpts()
    options([])
    conf.register_opts(options)
    options.register_opts([cfg.StrOpt('virt_type', default='kvm'),
                           cfg.StrOpt('connection_uri', default='')], group='libvirt')
    return options


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    """Four pCPUs; kernel.sched_rt_runtime_us is -1."""
    kernel = fake_scheduler.FakeScheduler(
        proc=fake_proc.write(tmp_path, sched_rt_runtime_us=-1))
    monkeypatch.setattr(scheduler, 'Scheduler', lambda: kernel)
    for name in ('present', 'online'):
        monkeypatch.setattr(cpus, name, lambda: frozenset(range(4)))
    return kernel


@pytest.mark.parametrize(('virt_type', 'kind', 'uri'), [
    ('kvm', kinds.Kind.MACHINE, 'qemu:///system'),
    ('qemu', kinds.Kind.MACHINE, 'qemu:///system'),
    ('lxc', kinds.Kind.CONTAINER, 'lxc:///'),
    ('parallels', kinds.Kind.CONTAINER, 'lxc:///')])
def test_the_virt_type_decides_the_kind_and_where_libvirt_is(options, virt_type, kind, uri):
    options.set_override('virt_type', virt_type, group='libvirt')
    assert (kinds.of(options), kinds.uri(options)) == (kind, uri)
    options.set_override('connection_uri', 'qemu+tcp:///', group='libvirt')
    assert kinds.uri(options) == 'qemu+tcp:///'


def test_a_host_for_virtual_machines_offers_its_pcpus_under_the_cap(options, kernel):
    options.set_override('cpu_set', '1-3', group='rt')
    options.set_override('cap', 0.5, group='rt')
    machine = this_host.from_options(options)
    half = bandwidth.BW_UNIT // 2
    assert machine.dialect == 'deadline'
    assert machine.empty.capacity == (0, half, half, half)
    assert machine.empty.occupancy is shares.Occupancy.CHOSEN


def test_the_kernels_own_servers_are_left_their_part(options, kernel, monkeypatch):
    monkeypatch.setattr(limits, 'kernel_servers', lambda: bandwidth.to_bandwidth(100, 1000))
    options.set_override('cap', 1.0, group='rt')
    assert this_host.from_options(options).empty.capacity[0] == (
        bandwidth.BW_UNIT - bandwidth.to_bandwidth(100, 1000))


def test_a_kernel_that_refuses_pinned_threads_is_an_error_at_start(options, kernel):
    kernel.admits = True
    with pytest.raises(host.UnavailableError, match=r'set kernel\.sched_rt_runtime_us to -1'):
        this_host.from_options(options)


def test_an_architecture_that_is_not_known_is_an_error_at_start(options, monkeypatch):
    def refuse():
        raise errors.UnsupportedError('Not on m68k: use another one.')
    monkeypatch.setattr(scheduler, 'Scheduler', refuse)
    with pytest.raises(host.UnavailableError, match='m68k'):
        this_host.from_options(options)
    assert this_host.examine(options)[0].found == 'Not on m68k'


def test_a_host_that_is_turned_off_asks_the_kernel_for_nothing(options, kernel):
    options.set_override('hcbs_scheduler_available', False, group='rt')
    assert this_host.from_options(options).dialect == 'none'
    assert kernel.writes == []


def test_the_doctor_of_a_healthy_host_has_nothing_to_say(options, kernel):
    findings = this_host.examine(options)
    assert {row.verdict for row in findings} == {finding.OK}
    assert [row.check for row in findings] == [
        'dialect', 'admission', 'kernel servers', 'turns', 'periods', 'pCPUs']


def test_the_doctor_asks_for_the_pcpus_of_the_cpu_set_only(options, kernel):
    kernel.admits, kernel._domains = True, [frozenset({0, 1, 2}), frozenset({3})]
    options.set_override('cpu_set', '3', group='rt')
    assert finding.WRONG not in {row.verdict for row in this_host.examine(options)}
    options.set_override('cpu_set', '2', group='rt')
    assert 'admission' in {row.check for row in this_host.examine(options)
                           if row.verdict == finding.WRONG}


def test_the_audit_s_host_asks_a_libvirt_of_its_own(options, kernel, monkeypatch):
    asked = []

    def refuse(uri):
        asked.append(uri)
        raise machines.MonitorError('away: start it.')
    monkeypatch.setattr(machines, 'connect', refuse)
    machine = this_host.from_options(options)
    assert machine.survey({'web': 7}).containers == {}
    assert asked == ['qemu:///system']


def test_a_libvirt_of_virtual_machines_that_is_away_is_named(options):
    options.set_override('connection_uri', 'qemu:///system?socket=/no', group='libvirt')
    with pytest.raises(containers.UnreachableError, match=r'qemu:///system\?socket=/no'):
        containers.running(options)
