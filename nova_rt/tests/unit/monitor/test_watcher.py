# SPDX-License-Identifier: Apache-2.0
"""Misses of real processes in mount namespaces of their own."""

import fcntl
import gc
import os
import resource
import select
import signal
import subprocess
import sys
import termios
import threading
import time

import pytest

from nova_rt.monitor import pace
from nova_rt.monitor import record
from nova_rt.monitor import watched
from nova_rt.testing import jobs
from nova_rt.testing import retries
from nova_rt.tests.unit.monitor import examples

pytestmark = retries.ONCE

PATIENCE_S = 30


def test_a_miss_is_heard(watcher, hear, container, application):
    job = application(container)
    watcher.add_container('server', container.pid)
    job.miss()
    news, = hear()
    assert (news.server, news.record.name, news.misses) == ('server', 'control', 1)
    assert news.record.deadline_ns == 1000 * jobs.MS
    assert news.record.missed_response_ns > news.record.deadline_ns
    assert 0 <= news.delay_ns <= news.heard_ns - news.record.missed_began_ns


def test_misses_before_it_was_added_are_known(watcher, quiet, container, application):
    application(container).miss()
    watcher.add_container('server', container.pid)
    assert quiet(0.1) == []
    found, = watcher.records()['server']
    assert found.misses == 1


def test_a_job_in_time_wakes_nobody(watcher, quiet, container, application):
    job = application(container)
    watcher.add_container('server', container.pid)
    for _ in range(1000):
        job.begin()
        job.end()
    assert quiet(0.1) == []


def test_all_misses_are_counted_however_fast_they_come(watcher, hear, container, application):
    job = application(container)
    watcher.add_container('server', container.pid)
    for _ in range(5000):
        job.miss()
    news = hear()
    while sum(new.misses for new in news) < 5000:
        news += hear()
    assert news[-1].record.consecutive == 5000
    assert len(news) < 5000


def test_a_job_that_hangs_is_heard_when_its_guard_reports(
        watcher, hear, container, application):
    job = application(container)
    watcher.add_container('server', container.pid)
    job.begin(jobs.LATE)
    job.check()
    news, = hear()
    assert news.overdue_ns > 0
    assert news.misses == 0
    job.end()
    assert hear()[0].misses == 1


def test_a_job_that_hangs_and_that_nobody_guards_is_heard_some_time_later(
        watcher, hear, container, application, monkeypatch):
    monkeypatch.setattr(watched, 'SLOW_NS', 50 * jobs.MS)
    job = application(container)
    watcher.add_container('server', container.pid)
    job.begin(jobs.LATE)
    news, = hear()
    assert news.overdue_ns > 0


def test_overruns_are_heard(watcher, hear, container, application):
    job = application(container)
    watcher.add_container('server', container.pid)
    job.overrun()
    assert hear()[0].overruns == 1


def test_a_folder_that_appears_later_is_heard(watcher, hear, container, application):
    watcher.add_container('server', container.pid)
    assert watcher.records() == {'server': []}
    application(container).miss()
    assert hear()[0].misses == 1


def test_a_folder_that_is_mounted_later_is_found(
        watcher, hear, container, application, monkeypatch):
    monkeypatch.setattr(watched, 'SLOW_NS', 50 * jobs.MS)
    container.make_folder()
    watcher.add_container('server', container.pid)
    container.run('mount -t tmpfs tmpfs /run/nova-rt/jobs')
    application(container).miss()
    assert hear()[0].misses == 1


def test_servers_are_told_apart(watcher, hear, new_container, application):
    for name in ('first', 'second'):
        container = new_container()
        watcher.add_container(name, container.pid)
        application(container).miss()
    assert {news.server for news in hear(2)} == {'first', 'second'}


def test_two_with_the_same_folder_are_both_heard(watcher, hear, container, application):
    job = application(container)
    watcher.add_container('first', container.pid)
    watcher.add_container('second', container.pid)
    job.miss()
    assert {news.server for news in hear(2)} == {'first', 'second'}
    watcher.remove('first')
    job.miss()
    assert [news.server for news in hear()] == ['second']


def test_one_that_is_removed_is_not_heard(watcher, quiet, container, application):
    job = application(container)
    watcher.add_container('server', container.pid)
    watcher.remove('server')
    watcher.remove('server')
    job.miss()
    assert quiet(0.1) == []
    assert watcher.records() == {}


def test_one_that_is_added_again_is_heard_once(watcher, hear, quiet, container, application):
    job = application(container)
    for _ in range(3):
        watcher.add_container('server', container.pid)
    job.miss()
    assert len(hear()) == 1
    assert quiet(0.1) == []


def test_a_container_that_ends_is_removed_and_keeps_nothing_open(
        watcher, quiet, container, application):
    application(container)
    before = set(os.listdir('/proc/self/fd'))
    watcher.add_container('server', container.pid)
    container.end()
    quiet(0.1)
    assert watcher.records() == {}
    assert set(os.listdir('/proc/self/fd')) <= before


def test_the_last_misses_of_a_container_that_ends_are_heard(
        watcher, container, application):
    job = application(container)
    watcher.add_container('server', container.pid)
    job.miss()
    container.end()
    assert [news.misses for news in watcher.look()] == [1]


def test_without_servers_nothing_wakes(watcher, quiet, container, monkeypatch):
    monkeypatch.setattr(watched, 'SLOW_NS', 20 * jobs.MS)
    watcher.add_container('server', container.pid)
    watcher.remove('server')
    quiet(0.1)
    assert select.select([watcher], [], [], 0.1)[0] == []


def test_a_container_that_has_ended_is_refused(watcher, container):
    container.end()
    with pytest.raises(ProcessLookupError):
        watcher.add_container('server', container.pid)
    assert watcher.records() == {}


def test_a_restart_of_the_application_loses_no_miss(watcher, hear, container, application):
    job = application(container)
    watcher.add_container('server', container.pid)
    job.miss()
    job.close()
    application(container).miss()
    news = hear()
    while sum(new.misses for new in news) < 2:
        news += hear()
    assert news[-1].record.misses == 2


def test_a_writer_that_was_killed_while_it_wrote_is_heard_again_after_its_restart(
        watcher, hear, quiet, container, application):
    job = application(container)
    watcher.add_container('server', container.pid)
    job.miss()
    hear()
    job.close()
    with open(container.jobs / 'control', 'r+b') as file:
        file.seek(8)
        file.write((7).to_bytes(8, 'little'))
    assert quiet(0.1) == []
    application(container).miss()
    assert hear()[0].misses == 1


def test_nonsense_is_ignored_and_said_once(
        watcher, hear, quiet, container, application, caplog):
    job = application(container)
    watcher.add_container('server', container.pid)
    caplog.set_level('DEBUG')
    for number in range(20):
        (container.jobs / f'bad{number}').write_bytes(os.urandom(192))
        (container.jobs / f'other{number}').write_bytes(examples.pack(name=b'control'))
        quiet(0.01)
    said = [line for line in caplog.messages if 'nonsense' in line]
    assert len(said) == 1
    assert said[0].startswith('The server server tells nonsense of its jobs')
    for number in range(20):
        (container.jobs / f'bad{number}').unlink()
        (container.jobs / f'other{number}').unlink()
    job.miss()
    assert hear()[0].misses == 1


def test_a_record_under_the_name_of_another_counts_for_none(watcher, quiet, container):
    container.make_folder()
    watcher.add_container('server', container.pid)
    (container.jobs / 'other').write_bytes(examples.missed(name=b'control'))
    assert quiet(0.1) == []


def test_it_may_be_written_in_any_language(watcher, hear, container):
    container.make_folder()
    watcher.add_container('server', container.pid)
    (container.jobs / '.new').write_bytes(examples.missed(name=b'control'))
    (container.jobs / '.new').rename(container.jobs / 'control')
    assert hear()[0].record.name == 'control'


FLOOD = '''
i=0; cd /run/nova-rt/jobs
while :; do echo > a; echo > b; done
'''


def test_a_flood_of_reports_costs_no_more_than_a_share(watcher, quiet, container, application):
    """The bound is of CPU time, which a slow machine does not lengthen."""
    job = application(container)
    watcher.add_container('server', container.pid)
    floods = [subprocess.Popen(('nsenter', '--target', str(container.pid), '--mount',
                                'sh', '-c', FLOOD)) for _ in range(2)]
    stop = threading.Event()

    def hammer():
        while not stop.is_set():
            job.miss()
    thread = threading.Thread(target=hammer)
    thread.start()
    gc.collect()
    quiet(2)  # The burst.
    began, cpu = time.monotonic(), time.thread_time()
    news = quiet(3)
    took, spent = time.monotonic() - began, time.thread_time() - cpu
    stop.set()
    thread.join()
    for flood in floods:
        flood.kill()
        flood.wait()
    assert news
    # Waiting for the file costs as well, as the burst may.
    assert spent / took < 2 * pace.ONE + pace.BURST_NS / 1e9 / took


def test_a_flood_of_one_delays_no_other(watcher, hear, new_container, application):
    loud, calm = new_container(), new_container()
    flooding = application(loud)
    job = application(calm)
    watcher.add_container('loud', loud.pid)
    watcher.add_container('calm', calm.pid)
    for _ in range(20_000):
        flooding.miss()
    # More than its queue holds, if the kernel went on to fill it.
    job.miss()
    assert {news.server for news in hear(2)} == {'loud', 'calm'}


def test_no_flood_fills_the_queue_that_all_servers_share(watcher, container, application):
    activities = [application(container, name) for name in 'ab']
    watcher.add_container('server', container.pid)
    for _ in range(100):
        for job in activities:
            job.miss()
    queued = fcntl.ioctl(watcher._inotify.fd, termios.FIONREAD, bytes(4))
    # An event with a name, and that the watch has ended.
    assert 0 < int.from_bytes(queued, sys.byteorder) <= 2 * (16 + 16)


def test_lost_events_are_made_up_for(watcher, hear, container, application, monkeypatch):
    job = application(container)
    watcher.add_container('server', container.pid)
    monkeypatch.setattr(watcher._inotify, 'happened', lambda: None)
    job.miss()
    assert hear()[0].misses == 1


def test_it_may_be_changed_while_it_is_looked_at(watcher, new_container, application):
    containers = [new_container() for _ in range(4)]
    activities = [application(container) for container in containers]
    stop = threading.Event()

    def change():
        while not stop.is_set():
            for number, container in enumerate(containers):
                watcher.add_container(f'server{number}', container.pid)
                watcher.remove(f'server{number}')
    thread = threading.Thread(target=change)
    thread.start()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        for job in activities:
            job.miss()
        watcher.look()
    stop.set()
    thread.join()
    assert watcher.records() == {}


def test_as_many_servers_as_files_may_be_open_and_then_a_sentence(watcher, container):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))

    def add_all():
        for number in range(64):
            watcher.add_container(f'server{number}', container.pid)
    try:
        with pytest.raises(OSError, match='Too many open files'):
            add_all()
        added = len(watcher.records())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    watcher.add_container('server', container.pid)
    assert len(watcher.records()) == added + 1


def test_nova_rt_run_in_a_container_is_heard(watcher, hear, container, built):
    watcher.add_container('server', container.pid)
    container.run(f'{built}/bin/nova-rt-run --period 1ms --deadline 1ms --name hangs '
                  f'sleep 0.01')
    program = jobs.compile_program(built, jobs.SOURCES / 'tests' / 'periodic.c')
    with subprocess.Popen(('nsenter', '--target', str(container.pid), '--mount',
                           built / 'bin' / 'nova-rt-run', '--period', '20ms', '--',
                           program, 'nanosleep', '5', '3')) as process:
        news = hear()
    assert process.returncode == 7
    assert news[0].record.name == 'periodic'
    assert news[0].misses or news[0].overdue_ns


def test_a_program_that_is_stopped_is_heard(watcher, hear, container, built):
    program = jobs.compile_program(built, jobs.SOURCES / 'tests' / 'periodic.c')
    watcher.add_container('server', container.pid)
    with jobs.running('nsenter', '--target', str(container.pid), '--mount',
                      built / 'bin' / 'nova-rt-run', '--period', '20ms', '--deadline', '50ms',
                      '--', program, 'nanosleep', '99999') as process:
        # Not before it is the program.
        end = time.monotonic() + PATIENCE_S
        while not jobs_of(container, 'periodic'):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        while not any(news.overdue_ns for news in hear()):
            pass


def jobs_of(container, name):
    """Return how many jobs of an activity have ended."""
    try:
        return record.decode((container.jobs / name).read_bytes()).jobs
    except (FileNotFoundError, record.RecordError):
        return 0
