# SPDX-License-Identifier: Apache-2.0
import json
import sys
import types

import libvirt
import pytest

from nova_rt.virt import machines


class Domain:
    """What lookupByID() returns."""


class LibvirtError(libvirt.libvirtError):

    def __init__(self, code):
        super().__init__('libvirt says no')
        self.code = code

    def get_error_code(self):
        return self.code


@pytest.fixture
def monitor(monkeypatch):
    """Set what QEMU's monitor answers; returns the threads of domain 7."""
    def monitor(answer):
        def command(domain, text, flags):
            assert isinstance(domain, Domain)
            assert json.loads(text) == {'execute': 'query-cpus-fast'}
            if isinstance(answer, Exception):
                raise answer
            return answer
        monkeypatch.setitem(sys.modules, 'libvirt_qemu', types.SimpleNamespace(
            qemuMonitorCommand=command))
        connection = types.SimpleNamespace(lookupByID=lambda number: Domain())
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


def test_a_libvirt_that_is_away_is_an_error_with_advice():
    with pytest.raises(machines.MonitorError, match='start libvirtd'):
        machines.connect('qemu:///system?socket=/nowhere')
