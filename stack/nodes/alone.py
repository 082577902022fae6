# SPDX-License-Identifier: Apache-2.0
"""One node without a control plane, in deterministic virtual time.

An instruction takes 8 ns and waiting takes no time, so the result does not
depend on the machine. See ``task.py`` for what the node does.
"""

from collections.abc import Mapping
from pathlib import Path

from stack.errors import StackError
from stack.image import build
from stack.interruption import uninterrupted
from stack.nodes import containers
from stack.nodes import share
from stack.nodes.machine import Machine
from stack.nodes.machine import NodeImage
from stack.rundir import RunDir
from stack.service import Site

TASK = Path(__file__).parent / 'task.py'
PATIENCE = 1800  # seconds


class Alone(Machine):
    """The machine; it switches itself off."""

    timing = ('-accel', 'tcg,thread=single,tb-size=512',
              '-icount', 'shift=3,sleep=off', '-no-reboot')

    def write_share(self, folder: Path) -> None:
        """See base class; the task instead of a configuration."""
        share.write_programs(self.site, folder)
        (folder / 'task').write_text(TASK.read_text())
        (folder / 'task').chmod(0o755)
        build.build('busybox-hog', folder, self.site.processes.run)

    def ready(self) -> bool:
        """Whether it has printed its result; it then switches itself off."""
        return bool(self.result())

    def result(self) -> list[str]:
        """Return the line with the result, once it is complete."""
        log = (self.site.rundir.logs / f'{self.name}.log').read_text(
            errors='replace')
        return [line.removeprefix('RESULT ') for line in log.split('\n')[:-1]
                if line.startswith('RESULT ')]


def measure(path: Path) -> Mapping[str, containers.Container]:
    """Return the paper's containers as such a node measured them.

    :param path: a run directory, empty again afterwards but for the logs.
    :raises StackError: if the node ends without a result.
    """
    rundir = RunDir(path)
    site = Site(rundir)
    rundir.create()
    try:
        NodeImage(site).prepare()
        machine = Alone(site, 1)
        machine.patience = PATIENCE
        machine.prepare()
        machine.start()
        running = containers.parse(machine.result()[-1])
    finally:
        with uninterrupted():
            site.processes.close()
            site.processes.stop(site.processes.names())
            site.processes.stop_marked()
            rundir.discard()
    if not running:
        raise StackError(f'No container ran: see {rundir.logs}.')
    return running
