# SPDX-License-Identifier: Apache-2.0
"""A container's tenant may put anything where its records are looked for."""

import os
import stat
import subprocess
import sys
import threading
import time

import pytest

from nova_rt.monitor import folder as monitor_folder
from nova_rt.monitor import reading
from nova_rt.tests.unit.monitor import examples

PATIENCE_S = 30


@pytest.fixture
def found(container):
    """Return a function that returns the names of what is read in the container."""
    def now():
        process = monitor_folder.Process(container.pid)
        folder = monitor_folder.Folder(process)
        try:
            folder.find()
            return sorted(name for name, _ in folder.contents())
        finally:
            folder.close()
            process.close()
    return now


@pytest.fixture
def record(container):
    container.make_folder()
    (container.jobs / 'control').write_bytes(examples.pack())


def test_a_record_is_found(record, found):
    assert found() == ['control']


def test_a_container_without_the_folder_has_none(found):
    assert found() == []


@pytest.mark.parametrize('path', ['run/nova-rt/jobs', 'run/nova-rt'])
@pytest.mark.parametrize('target', ['absolute', 'up', 'process'])
def test_a_link_is_not_followed_even_to_the_container_itself(
        container, found, path, target):
    elsewhere = container.root / 'run' / 'elsewhere' / 'jobs'
    elsewhere.mkdir(parents=True)
    (elsewhere / 'control').write_bytes(examples.pack())
    place = container.root / path
    place.parent.mkdir(exist_ok=True)
    inside = '/run/elsewhere/jobs' if path.endswith('jobs') else '/run/elsewhere'
    place.symlink_to({'absolute': inside, 'up': f'../../../../../..{inside}',
                      'process': f'/proc/{container.pid}/root{inside}'}[target])
    container.run('test -e /run/nova-rt/jobs/control')
    assert found() == []


def test_no_file_but_a_regular_one_of_the_folder_is_opened(container, record, found):
    (container.jobs / 'link').symlink_to('control')
    (container.jobs / 'outside').symlink_to('/etc/passwd')
    os.mkfifo(container.jobs / 'pipe')
    (container.jobs / 'folder').mkdir()
    # One that would be read as zeros.
    os.mknod(container.jobs / 'device', 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    container.run('touch /run/nova-rt/jobs/mounted; '
                  'mount --bind /etc/hostname /run/nova-rt/jobs/mounted')
    assert found() == ['control']


def test_what_is_not_on_a_tmpfs_is_not_read(container, record, found, tmp_path):
    (tmp_path / 'control').write_bytes(examples.pack())
    if os.stat(tmp_path).st_dev == os.stat('/dev/shm').st_dev:
        pytest.skip('/tmp is on a tmpfs here.')
    container.run(f'mount --bind {tmp_path} /run/nova-rt/jobs')
    assert (container.jobs / 'control').exists()
    assert found() == []


def test_of_more_files_than_sensible_only_some_are_read(container, found):
    container.make_folder()
    for number in range(1000):
        (container.jobs / f'control{number}').write_bytes(examples.pack())
    assert len(found()) == monitor_folder.MOST


def test_of_a_large_file_little_is_read(container, record):
    with open(container.jobs / 'control', 'r+b') as file:
        file.truncate(1 << 40)
    folder = monitor_folder.Folder(monitor_folder.Process(container.pid))
    folder.find()
    (_, data), = folder.contents()
    assert len(data) == 193
    folder.close()


def test_names_may_be_any_bytes(container, record, found):
    with open(bytes(container.jobs) + b'/\xff\n', 'wb'):
        pass
    assert found() == ['control', '\udcff\n']


def test_a_folder_that_is_made_later_is_found_from_the_nearest_above(container):
    folder = monitor_folder.Folder(monitor_folder.Process(container.pid))
    folder.find()
    assert not folder.is_there
    assert os.path.samestat(os.fstat(folder._fd), (container.root / 'run').stat())
    container.make_folder()
    folder.find()
    assert folder.is_there
    folder.close()


MOUNTS = (b'71 60 0:51 / /run/x\\040-\\040tmpfs rw shared:5 - ext4 /dev/vda rw\n'
          b'72 60 0:52 / /run/x\r80 rw - tmpfs 80 rw\n'
          b'80 60 0:53 / /run rw,nosuid - fuse.tmpfs tmpfs rw\n'
          b'9 60 0:53 / /run rw,nosuid - fuse.\xff\xfe tmpfs rw\n'
          b'8 60 0:53 / /run rw,nosuid - tmpfs tmpfs rw\n')


@pytest.mark.parametrize(('mount', 'expected'), [
    (71, 'ext4'), (72, 'tmpfs'), (80, 'fuse.tmpfs'), (9, 'fuse.\ufffd\ufffd'), (8, 'tmpfs'),
    (7, None), (60, None)])
def test_no_name_of_a_mount_lets_it_pass_for_another(mount, expected):
    assert monitor_folder.type_in(MOUNTS, mount) == expected


# A file system by FUSE whose program never answers: who asks it anything waits forever.
SILENT = '''
import ctypes, os, sys
device = os.open('/dev/fuse', os.O_RDWR)
options = f'fd={device},rootmode={sys.argv[2]},user_id=0,group_id=0'.encode()
if ctypes.CDLL(None, use_errno=True).mount(
        b'silent', sys.argv[1].encode(), b'fuse', 0, options):
    sys.exit(os.strerror(ctypes.get_errno()))
print('mounted', flush=True)
sys.stdin.read()
'''


@pytest.fixture
def silent(container):
    """Return a function that mounts one in the container."""
    started, timers = [], []

    def at(path, mode='40000'):
        process = subprocess.Popen(
            ('nsenter', '--target', str(container.pid), '--mount',
             sys.executable, '-c', SILENT, path, mode),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        if process.stdout.readline() != 'mounted\n':
            pytest.skip(f'No FUSE here: {process.stderr.read().strip()}')
        # Whoever waits for it would wait for ever.
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        timers.append(timer)
        return process
    yield at
    for process, timer in zip(started, timers, strict=False):
        timer.cancel()
        process.kill()
        process.communicate()


@pytest.mark.parametrize('path', ['run', 'run/nova-rt', 'run/nova-rt/jobs'])
def test_a_file_system_that_never_answers_is_not_asked(container, record, found, silent, path):
    process = silent(f'/{path}')
    asks = subprocess.Popen(('stat', container.root / path / 'x'), stderr=subprocess.DEVNULL)
    assert found() == []
    assert process.poll() is None
    # It does not answer anybody.
    time.sleep(0.2)
    assert asks.poll() is None
    asks.kill()


def test_a_file_of_one_that_never_answers_is_not_opened(container, record, found, silent):
    container.run('echo > /run/nova-rt/jobs/other')
    process = silent('/run/nova-rt/jobs/control', '100000')
    assert found() == ['other']
    assert process.poll() is None


def test_a_process_that_has_ended_is_no_container(container):
    process = monitor_folder.Process(container.pid)
    container.end()
    folder = monitor_folder.Folder(process)
    folder.find()
    assert not folder.is_there
    process.close()
    with pytest.raises(ProcessLookupError):
        monitor_folder.Process(container.pid)


def test_what_a_container_tells_can_be_read_without_waiting(container, application):
    assert reading.of_container(container.pid) == []
    job = application(container)
    job.begin(1)
    job.end()
    (container.jobs / 'nonsense').write_text('nonsense')
    told, = reading.of_container(container.pid)
    assert (told.name, told.jobs, told.misses) == ('control', 1, 1)
    with pytest.raises(ProcessLookupError):
        reading.of_container(2 ** 22)
