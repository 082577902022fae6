#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Watch a container that misses deadlines until it is lent something, as JSON.

``recovery_watch.py GROUP OTHER PROGRAM ARGUMENT...`` runs the program, an activity, in the
container with this group, and ends it then. Times are in ns of CLOCK_MONOTONIC: of the first
deadline missed, of the end of the other container's group, if it ends, and of the loan. It is
copied to a node and runs there.
"""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

from nova_rt.virt import containers
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import tree

PATIENCE_S = 240.0
PAUSE_S = 0.001
_LOGGED = struct.Struct('=qq')


def main() -> None:
    """Run the activity, and print what happened."""
    group, other, program, *arguments = sys.argv[1:]
    spoken = detect.detect(tree.CgroupTree.find(), os.cpu_count() or 1)
    if spoken is None:
        sys.exit('The kernel has no real-time control groups.')
    own = spoken.read(group).runtimes_us
    init = containers.first_process(min(spoken.tree.processes(group)))
    log = _prepare(init, program, arguments[0])
    running = _start(spoken.tree.root / group, init, arguments)
    try:
        end_s = time.monotonic() + PATIENCE_S
        stopped_ns = loan_ns = 0
        while not loan_ns and time.monotonic() < end_s:
            time.sleep(PAUSE_S)
            if other and not stopped_ns and not spoken.tree.exists(other):
                stopped_ns = time.monotonic_ns()
            if spoken.read(group).runtimes_us != own:
                loan_ns = time.monotonic_ns()
    finally:
        os.killpg(running.pid, signal.SIGKILL)
    deadline_ns = int(arguments[2]) * 1000
    late = [release + deadline_ns for release, ended in _jobs(log)
            if not ended or ended - release > deadline_ns]
    print(json.dumps({'missed_ns': late[0] if late else 0, 'stopped_ns': stopped_ns,
                      'loan_ns': loan_ns, 'missed': len(late)}))


def _prepare(init: int, program: str, name: str) -> pathlib.Path:
    """Give the container the program, and a place for what it tells; return its log."""
    folder = pathlib.Path(f'/proc/{init}/root/run/nova-rt')
    if not folder.is_dir():
        folder.mkdir()
        subprocess.run(('nsenter', '--mount', '--target', str(init), 'mount', '-t', 'tmpfs',
                        'tmpfs', '/run/nova-rt'), check=True)
    shutil.copy(program, folder / 'activity')
    return folder / f'{name}.log'


def _start(group: pathlib.Path, init: int, arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ('nsenter', '--mount', '--pid', '--target', str(init), '/run/nova-rt/activity',
         *arguments), process_group=0,
        preexec_fn=lambda: (group / 'cgroup.procs').write_text(str(os.getpid())))


def _jobs(log: pathlib.Path) -> list[tuple[int, int]]:
    data = log.read_bytes()
    return [pair for pair in _LOGGED.iter_unpack(data[:len(data) - len(data) % 16]) if pair[0]]


if __name__ == '__main__':
    main()
