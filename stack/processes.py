# SPDX-License-Identifier: Apache-2.0
"""Processes of one stack: each a session of its own, each on record.

The record outlives the launcher, so that a later call stops exactly these
processes. A process that left its session (a daemon) is still known by the
variable ``MARK`` in its environment.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import json
import os
import signal
import subprocess
import threading
import time

import psutil

from stack.errors import StackError
from stack.rundir import RunDir

MARK = 'NOVA_RT_STACK'
PAUSE = 0.05


class Processes:
    """Start, record and stop the processes of one run directory."""

    def __init__(self, rundir: RunDir) -> None:
        self._rundir = rundir
        self._closed = threading.Event()

    def start(
        self, name: str, command: Sequence[str],
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start ``command`` in its own session, output to log/NAME.log.

        :raises StackError: if the command does not exist, or the stack is
            being stopped.
        """
        if self._closed.is_set():
            raise StackError('The stack is being stopped.')
        full = {**_inherited(), **(env or {}), MARK: str(self._rundir.path)}
        with open(self._rundir.logs / f'{name}.log', 'ab') as log:
            try:
                process = subprocess.Popen(
                    [str(part) for part in command], env=full,
                    stdin=subprocess.DEVNULL, stdout=log,
                    stderr=subprocess.STDOUT, start_new_session=True)
            except FileNotFoundError:
                raise StackError(
                    f'The command {command[0]}, which {name} needs, does not '
                    'exist: install the packages listed in bindep.txt.'
                ) from None
        self._record(name, process.pid)
        return process

    def run(
        self, name: str, command: Sequence[str],
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Run ``command`` to its end.

        :raises StackError: if it fails, with the last line of its output.
        """
        process = self.start(name, command, env)
        status = process.wait()
        self._forget(name)
        if status:
            raise StackError(self.failure(name, f'ended with {status}'))

    def failure(self, name: str, what: str) -> str:
        """Return a sentence that says what happened and names the log."""
        path = self._rundir.logs / f'{name}.log'
        lines = path.read_text(errors='replace').split('\n') if (
            path.exists()) else []
        last = next((line for line in reversed(lines) if line.strip()), '')
        return f'{name} {what}: "{last.strip()[:300]}" (log: {path}).'

    def alive(self, name: str) -> bool:
        """Whether a process of the recorded session still runs."""
        return bool(self.members([name]))

    def leader(self, name: str) -> int:
        """Return the pid that was started under ``name``.

        :raises StackError: if there is no such record.
        """
        try:
            text = (self._rundir.processes / f'{name}.json').read_text()
        except FileNotFoundError:
            raise StackError(f'{name} is not running.') from None
        return int(json.loads(text)['pid'])

    def names(self) -> list[str]:
        """Return the recorded names, in alphabetical order."""
        return sorted(p.stem for p in self._rundir.processes.glob('*.json'))

    def close(self) -> None:
        """Refuse further starts: the stack is being stopped."""
        self._closed.set()

    def stop(self, names: Iterable[str], grace: float = 10.0) -> None:
        """Stop these processes together: SIGTERM, and after grace seconds SIGKILL."""
        names = list(names)
        self._end(lambda: self.members(names), grace)
        for name in names:
            self._forget(name)

    def stop_marked(self, grace: float = 5.0) -> None:
        """Stop whatever else carries this run directory's mark."""
        self._end(self.marked, grace)

    def marked(self) -> list[int]:
        """Return the pids that carry this run directory's mark."""
        mark = str(self._rundir.path)
        return [
            pid for pid in psutil.pids()
            if pid != os.getpid()
            and _environment(pid).get(MARK) == mark and is_alive(pid)
        ]

    def _end(self, find: Callable[[], list[int]], grace: float) -> None:
        for sign, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10)):
            for pid in find():
                send(pid, sign)
            deadline = time.monotonic() + patience
            while find():
                if time.monotonic() > deadline:
                    break
                time.sleep(PAUSE)

    def members(self, names: Iterable[str]) -> list[int]:
        """Return the pids in the sessions recorded under these names."""
        sessions = set()
        for name in names:
            path = self._rundir.processes / f'{name}.json'
            if not path.exists():
                continue
            record = json.loads(path.read_text())
            # With another start, the pid is another process's: the session has ended.
            if _start(record['pid']) in (None, record['start']):
                sessions.add(record['pid'])
        return [
            pid for pid in psutil.pids()
            if _session(pid) in sessions and is_alive(pid)
        ]

    def _record(self, name: str, pid: int) -> None:
        self._rundir.write_json(
            self._rundir.processes / f'{name}.json',
            {'pid': pid, 'start': _start(pid)})

    def _forget(self, name: str) -> None:
        (self._rundir.processes / f'{name}.json').unlink(missing_ok=True)


def send(pid: int, sign: int) -> None:
    """Send a signal; ignore that the process has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, sign)


def is_alive(pid: int) -> bool:
    """Whether a process runs.

    A zombie whose other threads still run keeps its files and ports, and counts.
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return process.num_threads() > 1
        return process.status() != psutil.STATUS_DEAD
    except psutil.NoSuchProcess:
        return False


def command_line(pid: int) -> list[str]:
    """Return the command line, [] if the process has ended."""
    try:
        return psutil.Process(pid).cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def pss_kib(pid: int) -> int:
    """Return the proportional set size in KiB, 0 if it is unknown."""
    try:
        return int(psutil.Process(pid).memory_full_info().pss) // 1024
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def _environment(pid: int) -> dict[str, str]:
    """Return the environment that the process was started with, {} if unknown."""
    try:
        return psutil.Process(pid).environ()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return {}


def _session(pid: int) -> int | None:
    """Return the session of a process, None if it has ended."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _start(pid: int) -> float | None:
    """Return when a process started, in seconds since boot; None if it has ended.

    Since boot, because setting the clock moves the time since the epoch.
    """
    try:
        return round(psutil.Process(pid).create_time() - psutil.boot_time(), 2)
    except psutil.NoSuchProcess:
        return None


def _inherited() -> dict[str, str]:
    """Return our environment without the variables of OpenStack clients.

    Those of a client or of Nova's tests would change the services.
    """
    return {name: value for name, value in os.environ.items()
            if not name.startswith('OS_')}
