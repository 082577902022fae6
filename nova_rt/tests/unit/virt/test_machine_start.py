# SPDX-License-Identifier: Apache-2.0
"""A virtual machine runs only with its reservation; on real QEMU in e2e/machines."""

import contextlib
import types
from unittest import mock

from lxml import etree
from nova import exception
import nova.conf
from nova.virt.libvirt import driver as nova_driver
from nova.virt.libvirt import guest as libvirt_guest
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.instance import holdings
from nova_rt.virt import domain_xml
from nova_rt.virt import driver
from nova_rt.virt import machine_start

HOLDING = ledger.Holding(reservation.Reservation(30_000, 100_000, 2), (3, 1))
DOMAIN = ('<domain type="kvm"><vcpu cpuset="0-3">2</vcpu><cputune><shares>2048</shares>'
          '{}</cputune></domain>')


class LibvirtError(Exception):
    pass


@pytest.fixture(autouse=True)
def libvirt(monkeypatch):
    monkeypatch.setattr(
        nova_driver, 'libvirt', types.SimpleNamespace(libvirtError=LibvirtError))
    nova.conf.CONF.set_override('virt_type', 'kvm', group='libvirt')
    yield
    nova.conf.CONF.clear_override('virt_type', group='libvirt')


def server(task_state='spawning', **extra_specs):
    return types.SimpleNamespace(
        flavor=types.SimpleNamespace(extra_specs=extra_specs), task_state=task_state,
        system_metadata={}, uuid='a-uuid')


def domain(extra='', **extra_specs):
    return machine_start.domain(DOMAIN.format(extra), HOLDING, server(**extra_specs), hears=True)


def test_each_vcpu_is_pinned_to_one_pcpu_and_the_rest_is_nova_s():
    tune = etree.fromstring(domain()).find('cputune')
    assert [dict(pin.attrib) for pin in tune.findall('vcpupin')] == [
        {'vcpu': '0', 'cpuset': '1'}, {'vcpu': '1', 'cpuset': '3'}]
    assert tune.find('shares').text == '2048'
    vcpu = etree.fromstring(domain()).find('vcpu')
    assert (vcpu.text, vcpu.get('cpuset')) == ('2', '0-3')


def test_what_a_machine_holds_is_read_back_from_its_domain():
    assert domain_xml.holding_in(domain()) == ledger.Holding(HOLDING.reservation, (1, 3))


@pytest.mark.parametrize(('extra', 'specs', 'sentence'), [
    ('<vcpupin vcpu="0" cpuset="2"/>', {}, 'remove hw:cpu_policy'),
    ('<vcpusched vcpus="0" scheduler="fifo" priority="1"/>', {}, 'hw:cpu_realtime'),
    ('', {'hw:cpu.rt_policy': 'fifo'}, 'hw:cpu.rt_policy is for containers')])
def test_what_contradicts_a_reservation_is_refused_with_what_to_change(
        extra, specs, sentence):
    with pytest.raises(exception.InstanceDeployFailure, match=sentence):
        domain(extra, **specs)


def test_another_number_of_vcpus_than_reserved_is_refused():
    with pytest.raises(exception.InstanceDeployFailure, match=r'3 vCPU\(s\), but .* 2 pCPU'):
        machine_start.domain(
            DOMAIN.format('').replace('>2</vcpu>', '>3</vcpu>'), HOLDING, server(),
            hears=False)


def test_it_has_a_port_to_tell_of_misses_only_if_they_are_heard():
    assert 'org.nova_rt.jobs.0' in domain()
    assert 'org.nova_rt.jobs.0' not in machine_start.domain(
        DOMAIN.format(''), HOLDING, server(), hears=False)


def test_only_a_machine_with_a_reservation_waits():
    assert machine_start.must_wait(domain())
    assert not machine_start.must_wait(DOMAIN.format(''))
    assert not machine_start.must_wait(domain().replace('"kvm"', '"lxc"'))


class Start:
    """A start of a virtual machine; notes in which order what is called.

    :param refusal: of the reservation, or of the resume
    """

    def __init__(self, refusal=None, at=None, task_state='spawning'):
        self.calls = mock.Mock()
        self.instance = server(task_state)
        if at:
            self.calls.configure_mock(**{f'{at}.side_effect': refusal})
        self.ours = driver.RTLibvirtDriver.__new__(driver.RTLibvirtDriver)
        self.ours._domains = types.SimpleNamespace(apply=self.calls.apply)
        self.ours._destroy = self.calls.destroy
        self.guest = types.SimpleNamespace(
            resume=self.calls.resume, save_memory_state=self.calls.save)

    def __call__(self, xml=None, **kwargs):
        def create(ours, context, xml, instance, power_on, pause, post_xml_callback):
            self.calls.create(power_on, pause)
            return self.guest
        with mock.patch.object(nova_driver.LibvirtDriver, '_create_guest', create):
            self.ours._create_guest(None, xml or domain(), self.instance, **kwargs)

    @property
    def order(self):
        return [(name, *args) for name, args, _ in self.calls.mock_calls]


@pytest.mark.parametrize(('kwargs', 'order'), [
    ({}, [('create', True, True), 'apply', 'resume']),
    ({'pause': True}, [('create', True, True), 'apply']),
    ({'power_on': False}, [('create', False, False)])])
def test_a_machine_starts_paused_and_is_resumed_with_its_reservation(kwargs, order):
    start = Start()
    start(**kwargs)
    assert start.order == [
        step if isinstance(step, tuple) else
        (step, start.instance) if step == 'apply' else (step,) for step in order]


def test_a_machine_without_a_reservation_is_not_paused():
    start = Start()
    start(DOMAIN.format(''))
    assert start.order == [('create', True, False), ('apply', start.instance)]


@pytest.mark.parametrize(('at', 'refusal'), [
    ('apply', exception.InstanceDeployFailure(reason='no room')),
    ('resume', LibvirtError('gone'))])
@pytest.mark.parametrize(('task_state', 'last'), [
    ('spawning', 'destroy'), ('rebooting_hard', 'destroy'), ('resuming', 'save')])
def test_a_machine_without_its_reservation_is_ended_or_suspended_again(
        at, refusal, task_state, last):
    start = Start(refusal, at, task_state)
    with pytest.raises(type(refusal)):
        start()
    assert start.order[-1][0] == last


@pytest.fixture
def resume(monkeypatch):
    """Returns a start that Nova makes of a suspended server, up to where it asks libvirt."""
    def resume(start):
        for name in ('_get_existing_domain_xml', '_get_mdevs_from_guest_config', 'plug_vifs',
                     '_attach_pci_devices', '_attach_direct_passthrough_ports',
                     '_attach_mediated_devices'):
            setattr(start.ours, name, mock.Mock(return_value=domain()))
        start.ours._lxc_disk_handler = lambda *args: contextlib.nullcontext()
        start.ours.virtapi = mock.MagicMock()
        start.ours.virtapi.wait_for_instance_event.return_value.__exit__.return_value = False
        start.ours._host = mock.Mock()
        start.instance.get_pci_devices, start.instance.image_meta = lambda source: [], None
        monkeypatch.setattr(holdings, 'holding_of', lambda instance: HOLDING)
        monkeypatch.setattr(nova_driver.LibvirtDriver, '_cleanup',
                            lambda ours, *args, **kwargs: start.calls.cleanup())
        with mock.patch.object(nova_driver.LibvirtDriver, '_create_guest',
                               return_value=start.guest):
            start.ours.resume(None, start.instance, [], share_info=mock.Mock())
    monkeypatch.setattr(nova_driver.time, 'sleep', lambda seconds: None)
    return resume


def test_a_suspended_machine_that_is_refused_keeps_its_memory_and_stays_suspended(resume):
    """Nova would undefine it, with its saved memory, and say ERROR."""
    refusal = exception.InstanceDeployFailure(reason='no room')
    start = Start(refusal, 'apply', 'resuming')
    with pytest.raises(exception.InstanceFaultRollback) as raised:
        resume(start)
    assert raised.value.inner_exception is refusal
    assert [name for name, *_ in start.order] == ['apply', 'save']


def test_a_suspended_machine_that_cannot_be_saved_again_is_an_error_of_libvirts(resume):
    start = Start(exception.InstanceDeployFailure(reason='no room'), 'apply', 'resuming')
    start.calls.save.side_effect = LibvirtError('The disk is full.')
    with pytest.raises(LibvirtError):
        resume(start)


def test_what_is_cleaned_up_otherwise_is_nova_s(resume, monkeypatch):
    start = Start(task_state='deleting')
    cleaned = mock.Mock()
    monkeypatch.setattr(nova_driver.LibvirtDriver, '_cleanup', cleaned)
    start.ours._cleanup(None, start.instance, [])
    cleaned.assert_called_once()


class FakeDomain:

    def __init__(self, xml, calls):
        self.xml, self.calls = xml, calls

    def XMLDesc(self, flags):  # noqa: N802
        return self.xml

    def createWithFlags(self, flags):  # noqa: N802
        self.calls.create(flags)

    def managedSave(self, flags):  # noqa: N802
        self.calls.save()

    def resume(self):
        self.calls.resume()


@pytest.mark.parametrize(('refusal', 'names'), [
    (None, ['create', 'apply', 'resume']),
    (exception.InstanceDeployFailure(reason='no room'), ['create', 'apply', 'save'])])
def test_a_snapshot_resumes_a_machine_with_its_reservation_or_leaves_it_saved(
        monkeypatch, refusal, names):
    monkeypatch.setattr(libvirt_guest, 'libvirt', types.SimpleNamespace(
        VIR_DOMAIN_START_PAUSED=1), raising=False)
    calls = mock.Mock()
    calls.apply.side_effect = refusal
    guest = machine_start.WaitingGuest(
        libvirt_guest.Guest(FakeDomain(domain(), calls)), server(),
        types.SimpleNamespace(apply=calls.apply))
    if refusal:
        with pytest.raises(exception.InstanceDeployFailure):
            guest.launch()
    else:
        guest.launch()
    assert [name for name, *_ in calls.mock_calls] == names
    assert calls.create.call_args == mock.call(1)


def test_a_soft_reboot_leaves_the_start_to_a_hard_one(monkeypatch):
    ours = driver.RTLibvirtDriver.__new__(driver.RTLibvirtDriver)
    ours._clean_shutdown = mock.Mock()
    nova_s = mock.Mock(return_value=True)
    monkeypatch.setattr(nova_driver.LibvirtDriver, '_soft_reboot',
                        lambda ours, instance: nova_s(instance))
    monkeypatch.setattr(holdings, 'holding_of', lambda instance: HOLDING)
    assert ours._soft_reboot(server()) is False
    assert (ours._clean_shutdown.call_count, nova_s.call_count) == (1, 0)
    monkeypatch.setattr(holdings, 'holding_of', lambda instance: None)
    assert ours._soft_reboot(server()) is True
