# SPDX-License-Identifier: Apache-2.0
"""The library that an application reports its jobs by."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from nova_rt.monitor import record
from nova_rt.testing import jobs
from nova_rt.testing import retries
from nova_rt.virt import jobs_port

pytestmark = retries.ONCE

MS = jobs.MS


def run(program, *arguments, **more):
    return subprocess.run((program, *arguments), capture_output=True, text=True, **more)


def test_a_job_is_counted_with_its_response(library, told):
    job = library.open('control', 10 * MS, 8 * MS)
    release = time.monotonic_ns()
    job.begin(release)
    job.end()
    latest = time.monotonic_ns()
    found = told('control')
    assert (found.period_ns, found.deadline_ns) == (10 * MS, 8 * MS)
    assert (found.jobs, found.began_ns) == (1, 0)
    assert 0 < found.last_response_ns <= latest - release
    assert found.worst_response_ns == found.last_response_ns


def test_a_miss_is_told_with_its_release_and_response(library, told):
    job = library.open('control', 10 * MS, 8 * MS)
    release = time.monotonic_ns() - 9 * MS
    job.begin(release)
    job.end()
    found = told('control')
    assert (found.misses, found.consecutive) == (1, 1)
    assert found.missed_began_ns == release
    assert found.missed_response_ns == found.last_response_ns >= 9 * MS
    assert release + found.missed_response_ns == found.reported_ns


def test_consecutive_misses_end_with_a_job_in_time(library, told):
    job = library.open('control')
    for release in (jobs.LATE, jobs.LATE, 0, jobs.LATE):
        job.begin(release)
        job.end()
    assert (told('control').misses, told('control').consecutive) == (3, 1)


def test_the_present_job_can_be_seen(library, told):
    job = library.open('control')
    before = time.monotonic_ns()
    job.begin()
    assert before <= told('control').began_ns <= time.monotonic_ns()


def test_a_job_that_has_not_ended_ends_when_the_next_begins(library, told):
    job = library.open('control')
    job.begin(jobs.LATE)
    job.begin()
    assert (told('control').jobs, told('control').misses) == (1, 1)


def test_a_release_may_be_announced_and_be_put_off(library, told):
    job = library.open('control')
    for seconds in (1, 2):
        job.begin(time.monotonic_ns() + seconds * 1000 * MS)
    assert told('control').jobs == 0
    job.end()
    assert (told('control').jobs, told('control').began_ns) == (0, 0)


def test_a_job_is_not_reported_before_its_deadline(library, told):
    job = library.open('control', 10 * MS, 10_000 * MS)
    job.begin()
    assert job.check() == told('control').began_ns + 10_000 * MS + 1
    assert told('control').reported_ns == 0


def test_the_guard_is_back_for_the_next_job_while_one_hangs(library):
    job = library.open('control', 10_000 * MS, 10 * MS)
    release = time.monotonic_ns() - 11 * MS
    job.begin(release)
    assert job.check() == release + 10_010 * MS + 1


def test_a_job_that_hangs_is_reported_once_before_it_is_counted(library, told):
    job = library.open('control')
    job.begin(jobs.LATE)
    job.check()
    first = told('control').reported_ns
    assert first > 0
    job.check()
    assert told('control').reported_ns == first
    assert told('control').misses == 0


def test_where_there_is_no_job_the_guard_sleeps_for_a_deadline(library):
    job = library.open('control', 10 * MS, 8 * MS)
    before = time.monotonic_ns()
    assert before + 8 * MS <= job.check() <= time.monotonic_ns() + 8 * MS


def test_overruns_are_counted_and_reported(library, told):
    job = library.open('control')
    job.overrun()
    assert told('control').overruns == 1
    assert told('control').reported_ns > 0


def test_counts_continue_after_a_restart(library, told):
    job = library.open('control')
    job.begin(jobs.LATE)
    job.end()
    job.begin()
    job.close()
    assert told('control').began_ns == 0
    job = library.open('control')
    job.begin(jobs.LATE)
    job.end()
    assert (told('control').jobs, told('control').misses) == (2, 2)


def test_counts_begin_anew_with_another_deadline(library, told):
    library.open('control', 10 * MS, 8 * MS).close()
    job = library.open('control', 10 * MS, 8 * MS)
    job.begin(jobs.LATE)
    job.end()
    job.close()
    library.open('control', 10 * MS, 9 * MS)
    assert (told('control').jobs, told('control').deadline_ns) == (0, 9 * MS)


@pytest.mark.parametrize('content', [b'', b'x', bytes(192), b'\xff' * 192, bytes(5000)])
def test_a_file_with_anything_in_it_becomes_a_record(library, folder, told, content):
    (folder / 'control').write_bytes(content)
    library.open('control')
    assert told('control').jobs == 0


def test_of_two_with_one_name_each_has_its_own(library, folder, told):
    first, second = library.open('control'), library.open('control')
    first.begin()
    first.end()
    assert (told('control').jobs, told('control.1').jobs) == (1, 0)
    first.close()
    second.close()
    # A name is free again when who had it has ended, however.
    library.open('control')
    assert sorted(path.name for path in folder.iterdir()) == ['control', 'control.1']


def test_the_seventeenth_of_one_name_is_refused(library):
    for _ in range(16):
        library.open('control')
    with pytest.raises(OSError) as raised:  # noqa: PT011
        library.open('control')
    assert raised.value.errno == errno.EBUSY


@pytest.mark.parametrize(('name', 'period', 'deadline'), [
    ('', MS, MS), ('a/b', MS, MS), ('..', MS, MS), ('.a', MS, MS), ('a b', MS, MS),
    ('ä', MS, MS), ('a' * 60, MS, MS), ('a', 0, MS), ('a', MS, 0), ('a', MS, 2 ** 63),
    ('a', 2 ** 64 - 1, MS),
])
def test_what_is_not_valid_is_refused(library, folder, name, period, deadline):
    with pytest.raises(OSError) as raised:  # noqa: PT011
        library.open(name, period, deadline)
    assert raised.value.errno == errno.EINVAL
    assert list(folder.iterdir()) == []


def test_the_longest_name_leaves_room_for_a_number(library, told):
    for _ in range(16):
        library.open('a' * 59)
    assert told('a' * 59 + '.15').jobs == 0


def test_a_folder_that_is_not_on_a_tmpfs_is_refused(library, monkeypatch, tmp_path):
    monkeypatch.setenv(jobs.FOLDER_VARIABLE, str(tmp_path))
    if os.stat(tmp_path).st_dev == os.stat(jobs.SHARED_MEMORY).st_dev:
        pytest.skip('/tmp is on a tmpfs here.')
    with pytest.raises(OSError) as raised:  # noqa: PT011
        library.open('control')
    assert raised.value.errno == errno.ENOTSUP


@pytest.mark.parametrize('what', ['missing', 'file', 'link', 'pipe'])
def test_where_no_file_can_be_it_is_refused_at_once(library, folder, monkeypatch, what):
    if what == 'missing':
        monkeypatch.setenv(jobs.FOLDER_VARIABLE, str(folder / 'missing'))
    elif what == 'file':
        (folder / 'file').touch()
        monkeypatch.setenv(jobs.FOLDER_VARIABLE, str(folder / 'file'))
    elif what == 'link':
        (folder / 'control').symlink_to('/etc/hostname')
    else:
        os.mkfifo(folder / 'control')
    with pytest.raises(OSError):  # noqa: PT011
        library.open('control')


@pytest.mark.parametrize(('mount', 'number'), [
    (('-o', 'size=4k,mode=777'), errno.ENOSPC), (('-o', 'ro'), errno.EROFS),
    (('-o', 'nr_inodes=1'), errno.ENOSPC)])
def test_a_full_or_read_only_folder_leaves_the_application_alone(
        as_root, program, tmp_path, mount, number):
    # It takes the only page there is.
    script = (f'mount -t tmpfs {" ".join(mount)} tmpfs {tmp_path}; '
              f'dd if=/dev/zero of={tmp_path}/fill bs=4k count=9 2>/dev/null; '
              f'exec {program("unreported")}')
    done = run('unshare', '--mount', 'sh', '-c', script,
               env={**os.environ, jobs.FOLDER_VARIABLE: str(tmp_path)})
    assert done.stdout == f'{number}\n1000 jobs done\n'


@pytest.fixture
def clock_in_user_space(program, folder):
    if run(program('silent'), 'clock').returncode:
        pytest.skip('The clock of this machine is read by a system call.')


def test_a_job_in_time_makes_no_system_call(clock_in_user_space, program, told):
    assert run(program('silent')).stdout == 'alive\n'
    assert told('silent').jobs == 1000


def test_a_job_that_is_late_makes_some(clock_in_user_space, program, told):
    assert run(program('silent'), 'late').returncode == -signal.SIGSYS
    assert told('silent').misses == 1


@pytest.mark.parametrize('how', ['alone', 'threads', 'signals'])
def test_nothing_waits_or_breaks_where_calls_meet(program, folder, told, how):
    done = run(program('hammer'), 'control', how, '30000', timeout=120)
    assert done.returncode == 0
    found = told('control')
    assert found.misses == found.jobs == found.consecutive
    # Who finds another writing gives way, for as long as that one has lost its CPU.
    assert found.jobs == 30_000 if how == 'alone' else found.jobs > 0


def test_a_reader_never_sees_half_a_job(program, folder):
    with jobs.running(program('hammer'), 'control', 'alone', '1000000000',
                      stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        fd = os.open(folder / 'control', os.O_RDONLY)
        seen = set()
        while len(seen) < 2000:
            data = record.consistent(lambda size, at: os.pread(fd, size, at))
            if data is not None:
                found = record.decode(data)
                assert found.misses == found.jobs == found.consecutive
                seen.add(found.jobs)
        os.close(fd)


def test_a_writer_that_is_killed_anywhere_is_taken_over(program, folder, told):
    chance = random.Random(5)
    before = 0
    for kills in range(1, 31):
        with subprocess.Popen((program('hammer'), 'control', 'alone', '100000000'),
                              stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.01))
            process.kill()
        # It may have been killed while it wrote: then it is no record until the restart.
        assert run(program('hammer'), 'control', 'alone', '1').returncode == 0
        found = told('control')
        assert found.jobs > before
        # Each may have been between the two counts.
        assert 0 <= found.jobs - found.misses <= kills
        before = found.jobs
    assert [path.name for path in folder.iterdir()] == ['control']


def test_who_closes_all_files_finds_nothing_in_those_opened_later(program, tmp_path, told):
    other = tmp_path / 'other'
    other.write_bytes(b'untouched' * 99)
    assert run(program('careless'), other).returncode == 0
    assert other.read_bytes() == b'untouched' * 99
    # Nobody is woken, but who looks sees it.
    assert told('careless').misses == 1
    assert told('careless').reported_ns > 0


def test_the_child_of_a_fork_reports_nothing_and_does_no_harm(program, folder, told):
    assert run(program('careless'), 'forks').returncode == 0
    assert told('careless').jobs == 0


def test_the_default_folder_is_made_for_all_users(as_root, program):
    script = ('mount -t tmpfs tmpfs /run; umask 077; "$0" control alone 1; '
              'stat -c %a /run/nova-rt/jobs; ls /run/nova-rt/jobs')
    done = run('unshare', '--mount', 'sh', '-c', script, program('hammer'))
    assert done.stdout == 'started\n1777\ncontrol\n'


def test_it_takes_a_record_that_another_user_has_not(as_root, program, folder):
    folder.chmod(0o1777)
    (folder / 'control').touch(0o600)
    copy = folder / 'hammer'
    shutil.copy(program('hammer'), copy)
    copy.chmod(0o755)
    done = run(copy, 'control', 'alone', '1', user=65534)
    assert done.returncode == 0
    assert (folder / 'control.1').stat().st_uid == 65534


def test_a_program_in_cplusplus_includes_the_header(built, tmp_path):
    if shutil.which('c++') is None:
        pytest.skip('There is no C++ compiler.')
    source = tmp_path / 'example.cc'
    source.write_text('#include <nova_rt_jobs.h>\n'
                      'int main() { nova_rt_job_begin(nova_rt_job_open("a", 1, 1), 0); }\n')
    done = run('c++', '-Wall', '-Werror', '-o', tmp_path / 'example', source,
               f'-I{built}/include', built / 'lib' / 'libnova-rt-jobs.a')
    assert done.stderr == ''


def test_it_is_installed_where_programs_are_linked_statically(built, tmp_path):
    image = tmp_path / 'image'
    subprocess.run(('make', '-s', '-C', jobs.SOURCES, 'install', f'OUT={built}',
                    'CFLAGS=-O2 -Werror', f'DESTDIR={image}'), check=True)
    source = tmp_path / 'example.c'
    source.write_text('#include <nova_rt_jobs.h>\n'
                      'int main(void) { nova_rt_job_end((void *)0); return 0; }\n')
    subprocess.run(('cc', '-static', '-o', tmp_path / 'example', source,
                    f'-I{image}/usr/include', f'-L{image}/usr/lib', '-lnova-rt-jobs'),
                   check=True)
    assert run(tmp_path / 'example').returncode == 0


def test_the_rule_for_udev_is_of_the_port_of_the_domain(built, tmp_path):
    subprocess.run(('make', '-s', '-C', jobs.SOURCES, 'install', f'OUT={built}',
                    'CFLAGS=-O2 -Werror', f'DESTDIR={tmp_path}'), check=True)
    rule = (tmp_path / 'usr/lib/udev/rules.d/60-nova-rt-jobs.rules').read_text()
    assert f'ATTR{{name}}=="{jobs_port.NAME}"' in rule
    assert f'"/dev/virtio-ports/{jobs_port.NAME}"' in (jobs.SOURCES / 'port.c').read_text()


def test_the_example_of_the_user_guide_reports_its_jobs(built, folder, told):
    program = jobs.compile_program(built, jobs.SOURCES / 'example.c')
    assert run(program).returncode == 0
    assert told('arm').jobs == 120


def test_a_record_has_the_byte_order_and_layout_of_the_reader(library, folder):
    library.open('control', 5, 7)
    data = (folder / 'control').read_bytes()
    assert data[:4] == b'NRTJ'
    assert int.from_bytes(data[24:32], sys.byteorder) == 7
    assert data[128:136] == b'control\0'
