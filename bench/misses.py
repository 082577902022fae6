# SPDX-License-Identifier: Apache-2.0
"""What it costs that an application tells of its misses, and when the host hears.

Containers are processes with mount namespaces of their own. One process, which is not the
watcher's, misses the deadlines of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import os
from pathlib import Path
import select
import subprocess
import sys
import tempfile
import time

from bench import measure
from nova_rt.monitor import activity
from nova_rt.monitor import watcher as monitor_watcher
from nova_rt.testing import jobs

SERVERS = 100
MISSES_PER_S = 10
MISSES = 1000
JOBS = 1000
ROUNDS = 20
SECONDS = 20
# Between misses whose delay is measured.
PAUSE_S = 0.025
US_PER_NS = 1e-3

# argv: how long to wait between misses, how many, and the folders, which take turns. The
# others have jobs that are in time. What is in a loop costs this process, not the watcher.
_APPLICATIONS = """
import os, sys, time
from pathlib import Path
from nova_rt.testing import jobs

library = jobs.Library(Path(sys.argv[1]))
pause, count = float(sys.argv[2]), int(sys.argv[3])
activities = []
for folder in sys.argv[4:]:
    os.environ[jobs.FOLDER_VARIABLE] = folder
    activities.append(library.open('bench', 10**9, 10**9))
print('ready', flush=True)
sys.stdin.readline()
release = time.monotonic()
for number in range(count):
    job = activities[number % len(activities)]
    job.begin(1)
    job.end()
    job.begin()
    release += pause
    time.sleep(max(0, release - time.monotonic()))
sys.stdin.readline()
"""


def measurements() -> Iterator[measure.Measurement]:
    """Yield the library's cost, and, as root, the host's."""
    with tempfile.TemporaryDirectory() as folder:
        built = jobs.build(Path(folder))
        yield from _library(built)
        if os.geteuid():
            return
        with containers(SERVERS) as pids:
            yield _delay(built, pids[:1])
            yield _guarded(built, pids[0])
            yield from _cpu(built, pids)


def _library(built: Path) -> Iterator[measure.Measurement]:
    program = jobs.compile_program(built, Path(__file__).with_suffix('.c'))
    with tempfile.TemporaryDirectory(dir=jobs.SHARED_MEMORY) as folder:
        printed = subprocess.run(
            (program, str(ROUNDS)), check=True, capture_output=True, text=True,
            env={**os.environ, jobs.FOLDER_VARIABLE: folder}).stdout
    in_time, late, looks = zip(*(map(float, line.split()) for line in printed.splitlines()),
                               strict=True)
    yield measure.with_aims(
        compared := measure.compared(
            'a job in time', 'two looks at the clock', in_time, looks, 'ns', 1),
        measure.Aim('under 200 ns', compared.ours.median < 200))
    took = measure.Spread.of([ns * US_PER_NS for ns in late])
    yield measure.Measurement('a job that is late', 'µs', took, aims=(
        measure.Aim('under 10 µs', took.median < 10),))


def _delay(built: Path, pids: Sequence[int]) -> measure.Measurement:
    with _hearing(pids) as watcher, _applications(built, pids, PAUSE_S, MISSES):
        delays = [news.delay_ns * US_PER_NS for news in _heard(watcher, MISSES * PAUSE_S * 1.1)
                  if news.delay_ns is not None]
    took = measure.Spread.of(delays)
    return measure.Measurement(
        'a miss, from report to host', 'µs', took, notes={'misses': len(delays)},
        aims=(measure.Aim('median under 1 ms', took.median < 1000),))


def _guarded(built: Path, pid: int) -> measure.Measurement:
    """Measure from the deadline of a job that hangs, as each fifth of the program does."""
    program = jobs.compile_program(built, jobs.SOURCES / 'tests' / 'periodic.c')
    command = ('nsenter', '--target', str(pid), '--mount', built / 'bin' / 'nova-rt-run',
               '--period', '20ms', '--deadline', '1ms', '--', program, 'busy', str(JOBS))
    with _hearing([pid]) as watcher, subprocess.Popen(command, stdout=subprocess.DEVNULL):
        delays = [news.overdue_ns * US_PER_NS for news in _heard(watcher, JOBS * 0.021)
                  if news.overdue_ns and news.record.name == program.name]
    took = measure.Spread.of(delays)
    return measure.Measurement(
        'a hanging job, from deadline to host', 'µs', took,
        notes={'jobs': len(delays), 'guard': 'nova-rt-run'},
        aims=(measure.Aim('median under 1 ms', took.median < 1000),))


def _cpu(built: Path, pids: Sequence[int]) -> Iterator[measure.Measurement]:
    rate = SERVERS * MISSES_PER_S
    for name, pause_s, count, limit in (
            ('quiet', 0.001, len(pids), 0.1),
            (f'{MISSES_PER_S} misses a second each', 1 / rate, rate * SECONDS, 15)):
        with _hearing(pids) as watcher, _applications(built, pids, pause_s, count):
            if count == len(pids):
                list(_heard(watcher, 1))
            shares = [100 * share for share in _shares(watcher)]
        took = measure.Spread.of(shares)
        yield measure.Measurement(
            f'{SERVERS} servers, {name}', '% of a CPU', took,
            aims=(measure.Aim(f'under {limit}%', took.median < limit),))


def _shares(watcher: monitor_watcher.Watcher) -> Iterator[float]:
    """Yield the share of a CPU that this thread takes, of some seconds each."""
    for _ in range(2):
        began, cpu = time.monotonic(), time.thread_time()
        for _news in _heard(watcher, SECONDS / 2):
            pass
        yield (time.thread_time() - cpu) / (time.monotonic() - began)


def _heard(watcher: monitor_watcher.Watcher, seconds: float) -> Iterator[activity.News]:
    waits = select.poll()
    waits.register(watcher, select.POLLIN)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if waits.poll(left * 1000):
            yield from watcher.look()


@contextlib.contextmanager
def containers(count: int) -> Iterator[list[int]]:
    """Start processes that stand in for containers, with a folder each; yield their pids."""
    with contextlib.ExitStack() as started:
        pids = []
        for _ in range(count):
            process = started.enter_context(subprocess.Popen(
                ('unshare', '--mount', 'sh', '-ec',
                 'mount -t tmpfs tmpfs /run; mkdir -p /run/nova-rt/jobs; echo; exec cat'),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            started.callback(process.kill)
            (process.stdout or sys.stdin.buffer).readline()
            pids.append(process.pid)
        yield pids


@contextlib.contextmanager
def _hearing(pids: Sequence[int]) -> Iterator[monitor_watcher.Watcher]:
    watcher = monitor_watcher.Watcher()
    try:
        for pid in pids:
            watcher.add_container(f'server-{pid}', pid)
        yield watcher
    finally:
        watcher.close()


@contextlib.contextmanager
def _applications(built: Path, pids: Sequence[int], pause_s: float, count: int,
                  ) -> Iterator[None]:
    with subprocess.Popen(
            (sys.executable, '-c', _APPLICATIONS, built, str(pause_s), str(count),
             *(f'/proc/{pid}/root/run/nova-rt/jobs' for pid in pids)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError('no pipes')
        process.stdout.readline()
        process.stdin.write('go\n')
        process.stdin.flush()
        try:
            yield
        finally:
            process.kill()
