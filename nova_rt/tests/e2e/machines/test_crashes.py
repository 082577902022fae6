# SPDX-License-Identifier: Apache-2.0
"""What guests and operators do to a running virtual machine without Nova."""

import pathlib

import libvirt
import pytest

from nova_rt.tests.e2e.machines import private_libvirt
from nova_rt.tests.e2e.machines import servers
from nova_rt.tests.e2e.machines.test_machines import DEADLINE
from nova_rt.tests.e2e.machines.test_machines import holding
from nova_rt.tests.e2e.machines.test_machines import OTHER
from nova_rt.tests.e2e.machines.test_machines import RESERVED
from nova_rt.tests.e2e.machines.test_machines import state
from nova_rt.virt import cpus
from stack.image import build

TRIPLE_FAULT, PANIC = 1, 2
PANIC_DEVICE = "<panic model='isa'/>"

pytestmark = pytest.mark.skipif(len(cpus.online()) < 2, reason='needs two CPUs')


@pytest.fixture
def crashing(host, tmp_path, brisk):
    """Makes servers whose guest crashes by itself after a while."""
    def crashing(crash, device):
        disk = private_libvirt.spinning_disk(tmp_path, CRASH=crash)
        server = servers.Server(host, disk, holding(30_000))
        server.xml = server.xml.replace('</devices>', f'{device}</devices>')
        return server
    return crashing


def test_a_guest_that_faults_without_a_handler_restarts_with_its_reservation(
        crashing, tmp_path):
    said = tmp_path / 'serial'
    web = crashing(TRIPLE_FAULT, f"<serial type='file'><source path='{said}'/></serial>")
    web.start()
    threads = web.threads
    servers.eventually(lambda: said.read_bytes().count(build.WORD) > 1, seconds=60)
    assert web.threads == threads
    assert web.scheduled() == RESERVED
    assert state(web) == libvirt.VIR_DOMAIN_RUNNING


def test_a_guest_that_panics_ends_and_leaves_nothing(crashing):
    web = crashing(PANIC, PANIC_DEVICE)
    web.start()
    threads = web.threads
    servers.eventually(lambda: web.guest.id == -1, seconds=60)
    assert web.guest._domain.state() == [
        libvirt.VIR_DOMAIN_SHUTOFF, libvirt.VIR_DOMAIN_SHUTOFF_CRASHED]
    servers.eventually(lambda: not any(pathlib.Path(f'/proc/{thread}').exists()
                                       for thread in threads))
    web.start()
    assert web.scheduled() == RESERVED


def test_a_guest_that_panics_and_is_restarted_by_libvirt_has_its_reservation(crashing):
    web = crashing(PANIC, PANIC_DEVICE)
    web.xml = web.xml.replace('<devices>', '<on_crash>restart</on_crash><devices>')
    web.start()
    first = web.guest._domain
    servers.eventually(lambda: first.state()[1] == libvirt.VIR_DOMAIN_RUNNING_CRASHED, seconds=60)
    web.host.emit_event(servers.started(web))
    assert web.scheduled() == RESERVED


def test_libvirt_refuses_vcpus_beyond_those_of_the_flavor(server):
    web = server()
    web.start()
    with pytest.raises(libvirt.libvirtError, match='greater than max'):
        web.guest._domain.setVcpusFlags(3, libvirt.VIR_DOMAIN_AFFECT_LIVE)
    assert web.scheduled() == RESERVED


def test_a_vcpu_that_an_operator_adds_has_nothing_and_takes_nothing(server, caplog):
    """Nova's domains leave no room for it, unless somebody edits them."""
    web = server()
    web.xml = web.xml.replace('>2</vcpu>', ' current="2">3</vcpu>')
    web.start()
    web.guest._domain.setVcpusFlags(3, libvirt.VIR_DOMAIN_AFFECT_LIVE)
    assert web.scheduled()[:2] == RESERVED
    assert web.scheduled()[2][0] == OTHER
    web.host = servers.start_driver()
    assert 'its vCPUs on 3 thread(s), but its reservation has 2 pCPU(s)' in caplog.text
    assert [policy for policy, *_ in web.scheduled()] == [DEADLINE, DEADLINE, OTHER]
    with pytest.raises(Exception, match='its reservation has 2 pCPU'):
        web.host.change_reservation(web.instance, holding(40_000))
    assert web.scheduled()[:2] == RESERVED
