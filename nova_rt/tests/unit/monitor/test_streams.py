# SPDX-License-Identifier: Apache-2.0
"""Misses that come by a stream, as from the port of a virtual machine.

On a real one: nova_rt/tests/e2e/machines/test_jobs_port.py.
"""

import os
import pty
import socket
import threading
import time
import tty

import pytest

from nova_rt.monitor import notes
from nova_rt.monitor import pace
from nova_rt.monitor import port as monitor_port
from nova_rt.monitor import watcher as monitor_watcher
from nova_rt.testing import jobs
from nova_rt.testing import retries
from nova_rt.tests.unit.monitor import examples

pytestmark = retries.ONCE

NUMBER = 7


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where is noted what has been heard."""
    monkeypatch.setattr(notes, 'FOLDER', tmp_path / 'heard')
    return notes.FOLDER


def heard(number=NUMBER):
    return notes.Notes('machine', number)


def listen(watcher, number=NUMBER):
    """Hear of a new stream; return the guest's end."""
    host, guest = socket.socketpair()
    watcher.add_stream('machine', host.detach(), heard(number))
    return guest


@pytest.fixture
def port(watcher):
    """Return the other end of a stream that stands in for a virtio-serial port's."""
    with listen(watcher) as guest:
        yield guest


def test_a_miss_is_heard_by_a_stream(watcher, hear, port):
    port.send(examples.missed(1))
    news, = hear()
    assert (news.server, news.misses, news.delay_ns) == ('machine', 1, None)


def test_records_may_come_in_pieces_and_with_noise_between(watcher, hear, port):
    port.send(b'NRTJ noise')
    first, second = examples.missed(1), examples.missed(2)
    port.send(first[:100])
    watcher.look()
    port.send(first[100:] + second[:5])
    assert hear()[0].misses == 1
    port.send(second[5:])
    assert hear()[0].misses == 1


def test_a_stream_that_is_closed_is_removed(watcher, quiet, port):
    before = set(os.listdir('/proc/self/fd'))
    port.close()
    quiet(0.1)
    assert watcher.records() == {}
    assert len(set(os.listdir('/proc/self/fd'))) == len(before) - 2


def test_a_flood_by_a_stream_costs_no_more_than_a_share(watcher, quiet, port):
    stop = threading.Event()
    data = b''.join(examples.missed(number) for number in range(1, 300))

    def flood():
        port.setblocking(False)
        while not stop.is_set():
            try:
                port.send(data)
            except BlockingIOError:
                time.sleep(0.0001)
    thread = threading.Thread(target=flood)
    thread.start()
    quiet(2)
    began, cpu = time.monotonic(), time.thread_time()
    quiet(3)
    took, spent = time.monotonic() - began, time.thread_time() - cpu
    stop.set()
    thread.join()
    assert spent / took < 2 * pace.ONE + pace.BURST_NS / 1e9 / took


def test_the_library_sends_to_the_port_of_a_virtual_machine(
        watcher, hear, container, application, monkeypatch):
    """A terminal stands in for the port."""
    host, guest = pty.openpty()
    tty.setraw(guest)
    monkeypatch.setenv(jobs.PORT_VARIABLE, os.ttyname(guest))
    watcher.add_stream('machine', host, heard())
    job = application(container)
    job.miss()
    news, = hear()
    assert (news.server, news.record.name, news.misses) == ('machine', 'control', 1)
    job.begin(jobs.LATE)
    job.check()
    assert hear()[0].overdue_ns > 0
    os.close(guest)


def test_what_the_port_did_not_take_is_sent_with_a_later_job(
        watcher, hear, container, application, monkeypatch, tmp_path):
    """A pipe without a reader stands in for a port that is in use, or not read."""
    pipe = tmp_path / 'port'
    os.mkfifo(pipe)
    monkeypatch.setenv(jobs.PORT_VARIABLE, str(pipe))
    job = application(container)
    job.miss()
    watcher.add_stream('machine', os.open(pipe, os.O_RDWR | os.O_NONBLOCK), heard())
    time.sleep(0.11)
    job.begin()
    job.end()
    assert hear()[0].record.misses == 1


def test_what_a_service_before_has_heard_is_known(watcher, hear):
    before = monitor_watcher.Watcher()
    listen(before).send(examples.missed(3) + examples.missed(5))
    assert [news.misses for news in before.look()] == [1, 2]
    before.close()
    guest = listen(watcher)
    assert watcher.records()['machine'][0].misses == 5
    guest.send(examples.missed(9))
    assert [news.misses for news in hear()] == [4]


def test_the_first_report_tells_of_one_miss_as_others_may_have_been_heard_elsewhere(
        watcher, hear, port):
    port.send(examples.missed(1000))
    news, = hear()
    assert (news.misses, news.record.misses) == (1, 1000)


def test_a_first_report_of_a_job_that_hangs_tells_of_that_one_only(watcher, hear, port):
    port.send(examples.missed(1000, began_ns=1, reported_ns=9_000_000))
    news, = hear()
    assert (news.misses, news.late, news.overdue_ns) == (0, 1, 999_999)


def test_another_start_of_the_machine_begins_anew(watcher, hear, folder):
    listen(watcher, 7).send(examples.missed(5))
    hear()
    listen(watcher, 8)
    assert watcher.records()['machine'] == []
    assert list(folder.iterdir()) == []


def test_it_is_noted_until_the_machine_ends(watcher, hear, quiet, port):
    port.send(examples.missed(1) + examples.missed(2) + examples.missed(1, name=b'other'))
    hear(3)
    assert [(told.name, told.misses) for told in notes.records_of('machine', NUMBER)] == [
        ('control', 2), ('other', 1)]
    port.close()
    quiet(0.1)
    assert notes.records_of('machine', NUMBER) == []


def test_one_that_cannot_be_noted_is_heard(watcher, hear, port, folder):
    folder.write_text('no folder')
    port.send(examples.missed(1))
    assert hear()[0].misses == 1


def test_notes_that_are_no_records_are_left_out(watcher, folder):
    folder.mkdir()
    (folder / f'machine.{NUMBER}').write_bytes(b'x' * 200 + examples.missed(1))
    assert notes.records_of('machine', NUMBER) == []
    listen(watcher)
    assert watcher.records()['machine'] == []


def test_a_guest_that_makes_up_names_is_not_remembered_without_limit(watcher, hear, port):
    port.sendall(b''.join(examples.missed(1, name=b'name-%d' % number)
                          for number in range(300)))
    hear(300)
    assert len(watcher.records()['machine']) <= notes.MOST
    assert len(notes.records_of('machine', NUMBER)) == notes.MOST


def test_a_guest_that_sends_noise_is_heard_after_that(watcher, hear, port):
    def send():
        for _ in range(200):
            port.sendall(b'NRTJ' * 500 + os.urandom(500))
        port.sendall(examples.missed(1))
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    assert hear()[0].misses == 1
    thread.join(1)


def test_connecting_does_not_wait_for_who_listens(tmp_path):
    path = str(tmp_path / 'port')
    with pytest.raises(FileNotFoundError):
        monitor_port.connect(path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        with pytest.raises(ConnectionRefusedError):
            monitor_port.connect(path)
        # QEMU's, which accepts one connection and leaves the next ones waiting.
        listener.listen(1)
        stream = monitor_port.connect(path)
        with pytest.raises(BlockingIOError):
            monitor_port.connect(path)
        os.close(stream)


def test_a_connection_ends_before_the_one_that_stays(tmp_path):
    path = str(tmp_path / 'port')
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        stream = monitor_port.connect(path)
        with listener.accept()[0] as first, listener.accept()[0] as second:
            assert first.recv(1) == b''
            second.send(b'a record')
            assert os.read(stream, 8) == b'a record'
        os.close(stream)


def test_a_port_that_appears_while_an_application_runs_is_used(
        watcher, hear, container, application, monkeypatch, tmp_path):
    host, guest = pty.openpty()
    tty.setraw(guest)
    port = tmp_path / 'port'
    monkeypatch.setenv(jobs.PORT_VARIABLE, str(port))
    watcher.add_stream('machine', host, heard())
    job = application(container)
    job.miss()
    port.symlink_to(os.ttyname(guest))
    job.miss()
    assert hear()[0].record.misses == 2
    os.close(guest)


def test_closing_it_closes_all_files(container):
    before = set(os.listdir('/proc/self/fd'))
    made = monitor_watcher.Watcher()
    made.add_container('server', container.pid)
    with listen(made):
        made.close()
    assert set(os.listdir('/proc/self/fd')) == before
