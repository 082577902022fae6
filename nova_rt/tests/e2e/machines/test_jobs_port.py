# SPDX-License-Identifier: Apache-2.0
"""An application in a Linux guest tells of its misses by the port, and they are heard.

QEMU, libvirt, the guest's kernel and the library in it are real.
"""

import dataclasses
import pathlib
import re
import select
import time

import libvirt
import libvirt_qemu
import nova.conf
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.metrics import jobs as metrics_jobs
from nova_rt.metrics import servers as metrics_servers
from nova_rt.monitor import notes
from nova_rt.monitor import pace
from nova_rt.monitor import watcher as monitor_watcher
from nova_rt.reaction import ears
from nova_rt.reaction import loan_policy
from nova_rt.reaction import reactor
from nova_rt.reaction import threshold
from nova_rt.testing import full
from nova_rt.tests.e2e.machines import linux_guest
from nova_rt.tests.e2e.machines import servers
from nova_rt.tests.e2e.machines import test_live_migration
from nova_rt.tests.e2e.machines.test_live_migration import hosts  # noqa: F401
from nova_rt.tests.e2e.machines.test_live_migration import pair  # noqa: F401
from nova_rt.virt import containers
from nova_rt.virt import cpus
from stack import libvirt_files

CONF = nova.conf.CONF
HOLDING = ledger.Holding(reservation.Reservation(80_000, 100_000, 1), (0,))
PATIENCE_S = 180
# Long after the test.
ALWAYS = 'late 100000 &'
# As late has the port open for moments only, this has it most of the time.
FLOODS = f'(until timeout 12 cat /dev/urandom > {linux_guest.PORT}; do [ $? = 143 ] && break; done)'

pytestmark = [
    pytest.mark.skipif(len(cpus.online()) < 2, reason='needs two CPUs'),
    pytest.mark.skipif(linux_guest.missing() != '', reason=linux_guest.missing())]


def booting(host, disk, directory, script, holding=HOLDING, name='host'):
    """Return a server whose guest is a Linux that runs a script."""
    server = servers.Server(host, disk, holding, 1, name)
    server.xml = re.sub('<os>.*</os>', linux_guest.build(directory, script), server.xml)
    server.xml = server.xml.replace('>32</memory>', '>256</memory>')
    return server


@pytest.fixture
def linux(host, disk, tmp_path, monkeypatch):
    """Makes servers whose guest is a Linux that runs a script."""
    monkeypatch.setattr(notes, 'FOLDER', tmp_path / 'heard')
    return lambda script: booting(host, disk, tmp_path / 'guest', script)


class Ear:
    """Hears of one server, as nova-rt-compute does."""

    def __init__(self, server, files):
        self.server, self.news = server, []
        self.watcher = monitor_watcher.Watcher()
        self.domain = seen_from_here(files)[server.instance.uuid]
        assert ears.to_machine(self.watcher, server.instance.uuid, self.domain)

    def hear(self, until, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not until(self):
            assert time.monotonic() < end
            if select.select([self.watcher], [], [], 1)[0]:
                self.news += self.watcher.look()

    @property
    def misses(self):
        return sum(news.misses for news in self.news)


def seen_from_here(files):
    """Return what runs; libvirt's own folders are elsewhere for who is not in its namespace.

    :param files: the directory with libvirt's files
    """
    return {server: dataclasses.replace(domain, port=_from_here(files, domain.port))
            for server, domain in containers.running(CONF).items()}


def _from_here(files, port):
    # libvirt 9 has it below /var/lib/libvirt, libvirt 11 below /run/libvirt.
    folder = next(each for each in libvirt_files.DIRECTORIES if port.startswith(each))
    # A socket's whole path would be too long.
    short = pathlib.Path('/run/nova-rt-test-libvirt')
    short.unlink(missing_ok=True)
    short.symlink_to(libvirt_files.ours(files, folder))
    return port.replace(folder, str(short))


@pytest.fixture
def files():
    """The directory with the files of our only libvirtd."""
    return pathlib.Path(CONF.libvirt.connection_uri.partition('socket=')[2]).parents[1]


def test_misses_are_heard_counted_once_and_told(linux, files):
    web = linux(ALWAYS)
    web.start()
    first = Ear(web, files)
    first.hear(lambda ear: ear.misses >= 10)
    first.watcher.close()
    news = first.news[-1]
    assert (news.server, news.record.name, news.delay_ns) == (web.instance.uuid, 'late', None)
    # Another service goes on where this one ended.
    time.sleep(1)
    second = Ear(web, files)
    second.hear(lambda ear: ear.misses >= 10)
    assert first.misses + second.misses == second.news[-1].record.misses
    told, = metrics_jobs.of_machine(metrics_servers.Server(
        web.instance.uuid, '', web.guest.id, HOLDING))
    assert told.misses == second.news[-1].record.misses
    # It ends by itself.
    servers.end(web.guest._domain)
    second.hear(lambda ear: not ear.watcher.hears(web.instance.uuid), 20)
    assert not list(notes.FOLDER.iterdir())
    second.watcher.close()


def test_the_reactor_hears_each_start_and_says_what_its_user_can_do(linux, files):
    web, told = linux(ALWAYS), []
    reacts = reactor.Reactor(
        web.host.reservations, lambda: seen_from_here(files),
        loan_policy.LoanPolicy(threshold.Threshold(3, 60.0), 1, 600.0),
        lambda *sentence: told.append(sentence),
        lambda *sentence: told.append(sentence), 0.0, ears.to_machine)
    web.host.on_start(reacts.look_again)
    reacts.start()
    try:
        for _ in range(2):
            told.clear()
            web.start()
            web.host.emit_event(servers.started(web))
            servers.eventually(lambda: told, PATIENCE_S)
            assert told == [(web.instance.uuid, (
                'It missed 3 deadlines or more within 60 s. Nothing is lent to virtual '
                'machines: give it a larger reservation if that goes on.'))]
            servers.end(web.guest._domain)
    finally:
        reacts.stop()


def stalled(web):
    """Return whether QEMU waits until somebody reads what the guest sends."""
    return 'throttle on' in asked(web, 'info qtree')


def has_failed(web):
    """Return whether QEMU serves the port no more, as it has lost count of what is sent."""
    return re.search('broken: +true', asked(
        web, 'info virtio-status /machine/peripheral/virtio-serial0/virtio-backend')) is not None


def asked(web, command):
    return libvirt_qemu.qemuMonitorCommand(
        web.guest._domain, command, libvirt_qemu.VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP)


def test_it_is_heard_after_it_was_saved_and_restored_while_nobody_read(linux, files):
    web = linux(ALWAYS)
    web.start()
    before = Ear(web, files)
    before.hear(lambda ear: ear.misses >= 3)
    servers.eventually(lambda: stalled(web), PATIENCE_S)
    web.guest.save_memory_state()
    before.hear(lambda ear: not ear.watcher.hears(web.instance.uuid), 20)
    before.watcher.close()
    # As Nova resumes it: libvirt starts it from its memory.
    web.start()
    after = Ear(web, files)
    assert after.domain.port != before.domain.port
    after.hear(lambda ear: ear.misses >= 3 or has_failed(web))
    if has_failed(web):
        pytest.skip('this QEMU does not serve the port again (Virtqueue size exceeded)')
    # Without what it had told before.
    assert after.misses < after.news[-1].record.misses
    after.watcher.close()


def test_a_guest_that_floods_the_port_costs_little_and_is_heard_after_that(linux, files):
    web = linux(f'{ALWAYS}\nsleep 2\n{FLOODS}')
    web.start()
    ear = Ear(web, files)
    ear.hear(lambda ear: ear.misses)
    end = time.monotonic() + 8
    ear.hear(lambda ear: time.monotonic() > end, 20)
    began, cpu, heard = time.monotonic(), time.thread_time(), len(ear.news)
    ear.hear(lambda ear: time.monotonic() > began + 3, 20)
    took, spent = time.monotonic() - began, time.thread_time() - cpu
    # With what this loop takes itself.
    assert spent / took < pace.ALL
    # libvirt and QEMU answer all the while.
    assert web.scheduled()[0][1] == 80_000
    ear.hear(lambda ear: len(ear.news) > heard + 3)
    ear.watcher.close()


@full.only
def test_it_is_heard_where_it_has_gone_by_live_migration(
        hosts, disk, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(notes, 'FOLDER', tmp_path / 'heard')
    here, there = hosts
    web = booting(here.driver, disk, tmp_path / 'guest', ALWAYS, dataclasses.replace(
        HOLDING, pcpus=here.pcpus), here.name)
    web.start()
    source = Ear(web, here.socket.parents[1])
    source.hear(lambda ear: ear.misses >= 3)
    servers.eventually(lambda: stalled(web), PATIENCE_S)
    test_live_migration.migrate(web, here, there)
    test_live_migration.settle(web, there)
    source.hear(lambda ear: not ear.watcher.hears(web.instance.uuid), 20)
    source.watcher.close()
    CONF.set_override('connection_uri', there.uri, group='libvirt')
    arrived = Ear(web, there.socket.parents[1])
    arrived.hear(lambda ear: ear.misses >= 3)
    assert arrived.misses < arrived.news[-1].record.misses
    arrived.watcher.close()
    inactive = web.guest._domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE)
    assert 'org.nova_rt.jobs.0' in inactive
