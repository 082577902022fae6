# SPDX-License-Identifier: Apache-2.0
import json
import sys
import types

import libvirt
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt import domain_xml
from nova_rt.virt import machines
from nova_rt.virt.deadline import errors


class Domain:
    """What lookupByID() returns."""

    def __init__(self, state, xml):
        self.state = lambda: state
        self.XMLDesc = lambda flags: xml


class LibvirtError(libvirt.libvirtError):

    def __init__(self, code):
        super().__init__('libvirt says no')
        self.code = code

    def get_error_code(self):
        return self.code


@pytest.fixture
def monitor(monkeypatch):
    """Set what QEMU's monitor answers; returns the threads of domain 7."""
    def monitor(answer, state=(libvirt.VIR_DOMAIN_RUNNING, 1), xml='<domain/>'):
        def command(domain, text, flags):
            assert isinstance(domain, Domain)
            assert json.loads(text) == {'execute': 'query-cpus-fast'}
            if isinstance(answer, Exception):
                raise answer
            return answer
        monkeypatch.setitem(sys.modules, 'libvirt_qemu', types.SimpleNamespace(
            qemuMonitorCommand=command))
        connection = types.SimpleNamespace(lookupByID=lambda number: Domain(
            list(state), xml))
        return machines.Machines(lambda: connection).threads_of(7)
    return monitor


def test_the_threads_are_in_the_order_of_the_vcpus(monitor):
    assert monitor(json.dumps({'return': [
        {'cpu-index': 1, 'thread-id': 11}, {'cpu-index': 0, 'thread-id': 12},
        {'cpu-index': 10, 'thread-id': 9}]})) == (12, 11, 9)


def test_a_machine_that_has_ended_is_reported(monitor):
    with pytest.raises(ProcessLookupError, match='has ended'):
        monitor(LibvirtError(libvirt.VIR_ERR_NO_DOMAIN))


@pytest.mark.parametrize('answer', [
    LibvirtError(libvirt.VIR_ERR_OPERATION_INVALID), 'no JSON', '{"error": {}}',
    '{"return": [{}]}'])
def test_a_monitor_that_does_not_answer_is_an_error_with_advice(monitor, answer):
    with pytest.raises(machines.MonitorError, match=r'vCPUs of domain 7 .*restart its server'):
        monitor(answer)


INCOMING = (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_MIGRATION)
XML = domain_xml.with_pinned_vcpus(
    '<domain type="kvm"><vcpu>1</vcpu></domain>',
    ledger.Holding(reservation.Reservation(20_000, 100_000, 1), (0,)))


def test_a_machine_on_its_way_here_is_not_asked(monitor):
    with pytest.raises(errors.MigratingError, match='has not arrived yet'):
        monitor(AssertionError, INCOMING,
                domain_xml.for_destination(XML, (1,), domain_xml.RUNNING))


def test_a_machine_that_is_restored_from_its_memory_is_asked(monitor):
    assert monitor(json.dumps({'return': [{'cpu-index': 0, 'thread-id': 5}]}),
                   INCOMING, XML) == (5,)


def test_a_libvirt_that_is_away_is_an_error_with_advice():
    with pytest.raises(machines.MonitorError, match='start libvirtd'):
        machines.connect('qemu:///system?socket=/nowhere')
