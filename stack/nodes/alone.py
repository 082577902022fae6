# SPDX-License-Identifier: Apache-2.0
"""One node without a control plane, which runs a task and switches itself off.

In deterministic virtual time, an instruction takes 8 ns and waiting takes no time, so
the result does not depend on the machine; where response times count, there is one CPU, and
it takes 1 ns. The tasks are ``paper_task.py``, ``moves_task.py``, ``untrusted_task.py``,
``giving_way_task.py``, ``activities_task.py`` and ``machines_task.py``.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import json
from pathlib import Path
import shutil
import subprocess
import types
from typing import Any

from stack.errors import StackError
from stack.image import build
from stack.interruption import uninterrupted
from stack.nodes import containers
from stack.nodes import share
from stack.nodes import turns
from stack.nodes.machine import Machine
from stack.nodes.machine import NodeImage
from stack.rundir import RunDir
from stack.service import Site

PATIENCE = 1800  # seconds
HERE = Path(__file__).parent
BARE = HERE / 'bare.py'
PAPER = HERE / 'paper_task.py'
UNTRUSTED = HERE / 'untrusted_task.py'
MACHINES = HERE / 'machines_task.py'
MOVES = HERE / 'moves_task.py'
GIVING_WAY = HERE / 'giving_way_task.py'
SAMPLES = HERE / 'samples.py'
EVICTING = HERE / 'evicting.py'
# What a task finds beside it: C programs of stack/image, and a unit.
PROGRAMS = ('attempts',)
# Misses deadlines in a container, with the library that tells of them.
JOBS = HERE.parents[1] / 'jobs'
LIBRARY = ('job', 'file', 'port')
# Runs periodic jobs in a container, tells of their misses and logs them.
ACTIVITY = HERE.parent / 'image' / 'activity.c'
ACTIVITIES = HERE / 'activities_task.py'
NONE: Mapping[str, Any] = types.MappingProxyType({})
TURNS = HERE.parents[1] / 'etc/systemd/nova-rt-turns.service'


class Alone(Machine):
    """The machine; it switches itself off.

    :param task: the program that it runs
    :param settings: what it reads beside it, as JSON
    """

    def __init__(self, site: Site, number: int, task: Path,
                 settings: Mapping[str, Any] = NONE) -> None:
        super().__init__(site, number)
        self._task = task
        self._settings = settings

    def write_share(self, folder: Path) -> None:
        """See base class; the task instead of a configuration."""
        share.write_programs(self.site, folder)
        for beside in (BARE, SAMPLES, EVICTING, TURNS):
            shutil.copy(beside, folder)
        (folder / 'task').write_text(self._task.read_text())
        (folder / 'task').chmod(0o755)
        (folder / 'settings.json').write_text(json.dumps(dict(self._settings)))
        build.build('busybox-hog', folder, self.site.processes.run)
        build.build_machine(folder, self.site.processes.run)
        for program in PROGRAMS:
            build.compile_program(program, folder / program, self.site.processes.run)
        self.site.processes.run('gcc-late', _compiling(
            JOBS / 'tests' / 'late.c', folder / 'late', LIBRARY))
        compile_activity(folder / 'activity')

    def command(self) -> Sequence[str]:
        """See base class; what switches itself off stays so."""
        return (*super().command(), '-no-reboot')

    def ready(self) -> bool:
        """Whether it has printed its result; it then switches itself off."""
        return bool(self.result())

    def result(self) -> list[str]:
        """Return the line with the result, once it is complete."""
        log = (self.site.rundir.logs / f'{self.name}.log').read_text(
            errors='replace')
        return [line.removeprefix('RESULT ') for line in log.split('\n')[:-1]
                if line.startswith('RESULT ')]


def compile_activity(target: Path) -> None:
    """Compile the program that runs an activity, statically, so that it runs anywhere."""
    subprocess.run(_compiling(ACTIVITY, target, (*LIBRARY, 'guard')), check=True)


def _compiling(source: Path, target: Path, parts: Sequence[str]) -> Sequence[str]:
    """Return the command that compiles a program that tells of its misses."""
    return ('gcc', '-O2', '-Wall', '-D_GNU_SOURCE', '-pthread', '-static', f'-I{JOBS}', '-o',
            str(target), str(source), *(str(JOBS / f'{part}.c') for part in parts))


class InVirtualTime(Alone):
    """The same in deterministic time."""

    timing = ('-accel', 'tcg,thread=single,tb-size=512',
              '-icount', 'shift=3,sleep=off')


class OneInVirtualTime(InVirtualTime):
    """The same with one processor.

    Linux 6.1 starts the others by a loop in which -icount never lets them run.
    """

    cpus = 1


class AsFast(InVirtualTime):
    """The same with one processor, on which an instruction takes 1 ns.

    Nothing takes turns with it, so response times mean something.
    """

    cpus = 1
    timing = ('-accel', 'tcg,thread=single,tb-size=512',
              '-icount', 'shift=0,sleep=off')


def measure(path: Path) -> Mapping[str, containers.Container]:
    """Return the paper's containers as a node in virtual time measured them.

    :param path: a run directory, empty again afterwards but for the logs.
    :raises StackError: if the node ends without a result.
    """
    running = containers.parse(_result(path, PAPER, InVirtualTime))
    if not running:
        raise StackError(f'No container ran: see {path}.')
    return running


def attempts(path: Path) -> Mapping[str, Any]:
    """Return what an untrusted container tried, and what became of it.

    :param path: a run directory, empty again afterwards but for the logs.
    :raises StackError: if the node ends without a result.
    """
    result: Mapping[str, Any] = json.loads(_result(path, UNTRUSTED, InVirtualTime))
    return result


def moves(path: Path) -> Mapping[str, Any]:
    """Return what the paper's containers used while one was moved between pCPUs.

    :param path: a run directory, empty again afterwards but for the logs.
    :raises StackError: if the node ends without a result.
    """
    result: Mapping[str, Any] = json.loads(_result(path, MOVES, InVirtualTime))
    return result


def giving_way(path: Path) -> Mapping[str, Any]:
    """Return what containers had and used while one gave way to another that missed.

    :param path: a run directory, empty again afterwards but for the logs.
    :raises StackError: if the node ends without a result.
    """
    result: Mapping[str, Any] = json.loads(_result(path, GIVING_WAY, InVirtualTime))
    return result


def activities(path: Path, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what became of containers whose activities miss deadlines.

    :param path: a run directory, empty again afterwards but for the logs.
    :param settings: what ``activities_task.py`` reads.
    :raises StackError: if the node ends without a result.
    """
    result: Mapping[str, Any] = json.loads(_result(
        path, ACTIVITIES, AsFast, settings=settings))
    return result


def machines(path: Path) -> turns.Turns:
    """Return when the vCPUs of virtual machines ran on Debian's kernel in virtual time.

    :param path: a run directory, empty again afterwards but for the logs.
    :raises StackError: if the node ends without a result.
    """
    return turns.parse(_result(path, MACHINES, OneInVirtualTime, 'qemu'))


def _result(path: Path, task: Path, machine_type: type[Alone],
            virt_type: str = 'lxc', settings: Mapping[str, Any] = NONE) -> str:
    """Return what a task printed."""
    rundir = RunDir(path)
    site = Site(rundir, virt_type=virt_type)
    rundir.create()
    try:
        NodeImage(site).prepare()
        machine = machine_type(site, 1, task, settings)
        machine.patience = PATIENCE
        machine.prepare()
        machine.start()
        return machine.result()[-1]
    finally:
        with uninterrupted():
            site.processes.close()
            site.processes.stop(site.processes.names())
            site.processes.stop_marked()
            rundir.discard()
