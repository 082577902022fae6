# SPDX-License-Identifier: Apache-2.0
"""Virtual machines have their reservation whenever they run, on the machine's own kernel."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import libvirt
from nova import exception
import nova.conf
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.tests.e2e.machines import servers
from nova_rt.virt import cpus
from nova_rt.virt.deadline import errors
from stack import vcpus

CONF = nova.conf.CONF
DEADLINE, OTHER = 6, 0
RESERVED = [(DEADLINE, 30_000, [0]), (DEADLINE, 30_000, [1])]
HOG = ('import time\nend = time.monotonic() + 14\n'
       'while time.monotonic() < end: pass')

pytestmark = pytest.mark.skipif(len(cpus.online()) < 2, reason='needs two CPUs')


def holding(runtime_us, period_us=100_000, *pcpus):
    pcpus = pcpus or (0, 1)
    return ledger.Holding(reservation.Reservation(runtime_us, period_us, len(pcpus)), pcpus)


def state(server):
    return server.guest._domain.state()[0]


def used_ns(thread):
    return int(pathlib.Path(f'/proc/{thread}/schedstat').read_text().split()[0])


def measured(server, seconds=10):
    """Return what each vCPU's thread ran, in percent of the time that passed."""
    threads = server.threads
    before, since = [used_ns(thread) for thread in threads], time.monotonic()
    time.sleep(seconds)
    after, passed = [used_ns(thread) for thread in threads], time.monotonic() - since
    return [100 * (new - old) / 1e9 / passed
            for old, new in zip(before, after, strict=True)]


@pytest.fixture
def first_resume(monkeypatch):
    """Note how the vCPUs are scheduled, and what they have run, when a guest is resumed."""
    noted = []
    resume = libvirt.virDomain.resume

    def note(domain):
        noted.append(noted.server.scheduled())
        resume(domain)

    class Noted(list):
        server = None

    noted = Noted()
    monkeypatch.setattr(libvirt.virDomain, 'resume', note)
    return noted


@pytest.mark.parametrize('runtime_us', [30_000, 45_000])
def test_a_guest_is_resumed_only_when_all_its_vcpus_have_their_reservation(
        server, first_resume, runtime_us):
    web = server(runtime_us)
    first_resume.server = web
    web.start()
    assert first_resume == [[(DEADLINE, runtime_us, [0]), (DEADLINE, runtime_us, [1])]]
    assert state(web) == libvirt.VIR_DOMAIN_RUNNING


def test_a_guest_that_nova_wants_paused_stays_so_with_its_reservation(server):
    web = server()
    web.start(pause=True)
    assert web.scheduled() == RESERVED
    assert state(web) == libvirt.VIR_DOMAIN_PAUSED


def test_only_the_vcpus_are_under_sched_deadline(server):
    web = server()
    web.start()
    kernel = web.host.reservations._scheduler
    tasks = {int(task.name) for task in
             pathlib.Path(f'/proc/{web.threads[0]}/task').iterdir()}
    assert tasks > set(web.threads)
    assert {kernel.read(task).policy for task in tasks - set(web.threads)} == {OTHER}


def test_a_machine_without_a_reservation_is_started_as_nova_does(server):
    web = server(None)
    web.start()
    assert [policy for policy, *_ in web.scheduled()] == [OTHER, OTHER]
    assert state(web) == libvirt.VIR_DOMAIN_RUNNING


def test_each_vcpu_gets_what_is_reserved_beside_a_real_time_hog(server, brisk):
    web, db = server(30_000), server(40_000, 200_000)
    web.start()
    db.start()
    servers.eventually(lambda: vcpus.all_burn(web.threads + db.threads), seconds=180)
    hogs = [subprocess.Popen(['taskset', '-c', '0', 'chrt', '-f', '50', sys.executable,
                              '-c', HOG])]
    try:
        shares = measured(web)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    print('web', shares)
    assert shares == [pytest.approx(30, abs=0.3)] * 2
    shares = measured(db)
    print('db', shares)
    assert shares == [pytest.approx(20, abs=0.3)] * 2


def test_a_refused_reservation_ends_the_machine_before_it_runs(server, monkeypatch):
    web = server()
    kernel = web.host.reservations._scheduler
    write, written = kernel.write, []

    def refuse_second(thread, wanted):
        written.append(thread)
        if len(written) == 2:
            raise errors.refusal(thread, str(wanted), 16, True)
        write(thread, wanted)

    monkeypatch.setattr(kernel, 'write', refuse_second)
    monkeypatch.setattr(web.host, '_destroy', lambda instance: web.guest.poweroff())
    with pytest.raises(exception.InstanceDeployFailure, match='EBUSY'):
        web.start()
    assert state(web) == libvirt.VIR_DOMAIN_SHUTOFF


def test_a_reservation_is_changed_while_the_machine_runs(server):
    web = server()
    web.start()
    web.host.change_reservation(web.instance, holding(50_000, 200_000))
    assert web.scheduled() == [(DEADLINE, 50_000, [0]), (DEADLINE, 50_000, [1])]
    started_again = servers.start_driver()
    web.host = started_again
    assert web.scheduled() == [(DEADLINE, 50_000, [0]), (DEADLINE, 50_000, [1])]


def test_a_refused_change_leaves_all_vcpus_and_the_domain_as_they_were(server, monkeypatch):
    web = server()
    web.start()
    kernel = web.host.reservations._scheduler
    before, write = web.guest.get_xml_desc(), kernel.write
    last = web.threads[-1]

    def refuse(thread, wanted):
        if thread == last and wanted.runtime_ns == 50_000_000:
            raise errors.refusal(thread, str(wanted), 16, True)
        write(thread, wanted)

    monkeypatch.setattr(kernel, 'write', refuse)
    with pytest.raises(exception.ResizeError, match='EBUSY'):
        web.host.change_reservation(web.instance, holding(50_000))
    assert web.scheduled() == RESERVED
    assert web.guest.get_xml_desc() == before


def test_a_service_killed_before_the_resume_leaves_a_guest_that_has_not_run(
        server, monkeypatch):
    class KilledError(BaseException):
        pass

    def kill(number, held):
        raise KilledError

    web = server()
    monkeypatch.setattr(web.host.reservations, 'apply', kill)
    with pytest.raises(KilledError):
        web.start()
    assert state(web) == libvirt.VIR_DOMAIN_PAUSED
    before = list(map(used_ns, web.threads))
    time.sleep(0.5)
    assert list(map(used_ns, web.threads)) == before
    web.host = servers.start_driver()
    assert web.scheduled() == RESERVED
    assert state(web) == libvirt.VIR_DOMAIN_PAUSED


def test_a_killed_qemu_keeps_nothing_and_the_next_start_has_the_reservation(server):
    web = server()
    web.start()
    os.kill(int(_tgid(web.threads[0])), signal.SIGKILL)
    end = time.monotonic() + 20
    while web.guest.id != -1 and time.monotonic() < end:
        time.sleep(0.05)
    web.host.reservations.reconcile([(99, holding(30_000))])
    web.start()
    assert web.scheduled() == RESERVED


def _tgid(thread):
    status = pathlib.Path(f'/proc/{thread}/status').read_text()
    return status.split('Tgid:')[1].split()[0]


def test_drift_is_taken_back_when_the_service_starts(server):
    web = server()
    web.start()
    kernel = web.host.reservations._scheduler
    subprocess.run(['chrt', '-o', '-p', '0', str(web.threads[0])], check=True)
    kernel.set_affinity(web.threads[0], frozenset({0, 1}))
    assert web.scheduled() != RESERVED
    web.host = servers.start_driver()
    assert web.scheduled() == RESERVED


def test_what_a_machine_has_is_surveyed_for_the_audit(server):
    web, db = server(), server(None)
    web.start()
    db.start()
    survey = web.host.reservations.survey({'web': web.guest.id, 'db': db.guest.id})
    need = web.host.reservations.empty.add(holding(30_000).reservation, (0, 1)).used
    assert [*survey.containers['web']] == [*need]
    assert not any(survey.containers['db'])


def test_a_suspended_machine_is_resumed_with_its_reservation(server, first_resume):
    web = server()
    first_resume.server = web
    web.start()
    web.guest.save_memory_state()
    assert web.guest.id == -1
    web.start()
    assert first_resume == [RESERVED, RESERVED]


def test_a_suspended_machine_that_cannot_have_its_reservation_stays_suspended(
        server, monkeypatch):
    web = server()
    web.start()
    web.guest.save_memory_state()
    web.instance.task_state = 'resuming'
    kernel = web.host.reservations._scheduler

    def refuse(thread, wanted):
        raise errors.refusal(thread, str(wanted), 16, True)

    with monkeypatch.context() as patched:
        patched.setattr(kernel, 'write', refuse)
        with pytest.raises(exception.InstanceDeployFailure):
            web.start()
    assert web.guest._domain.hasManagedSaveImage()
    web.start()
    assert web.scheduled() == RESERVED


def test_a_snapshot_that_suspends_resumes_with_the_reservation(server, first_resume):
    web = server()
    first_resume.server = web
    guest = web.start()
    web.guest.save_memory_state()
    web.host._resume_guest_after_snapshot(web.context, False, 1, web.instance, guest)
    assert first_resume == [RESERVED, RESERVED]
    assert state(web) == libvirt.VIR_DOMAIN_RUNNING


def test_pause_and_unpause_keep_the_reservation(server):
    web = server()
    web.start()
    web.host.pause(web.instance)
    web.host.unpause(web.instance)
    assert web.scheduled() == RESERVED


def test_a_guest_that_resets_itself_keeps_its_reservation(server):
    web = server()
    web.start()
    web.guest._domain.reset()
    time.sleep(1)
    assert web.scheduled() == RESERVED


def test_a_machine_that_an_operator_starts_gets_its_reservation(server):
    web = server()
    web.start(power_on=False)
    web.guest._domain.create()
    web.host.emit_event(servers.started(web))
    assert web.scheduled() == RESERVED


def test_an_emulation_with_one_thread_for_all_vcpus_is_refused(server, monkeypatch):
    web = server()
    threads_of = web.host.reservations._threads_of
    monkeypatch.setattr(web.host.reservations, '_threads_of',
                        lambda number: (threads_of(number)[0],) * 2)
    with pytest.raises(exception.InstanceDeployFailure, match='a thread of its own'):
        web.start()
