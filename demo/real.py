# SPDX-License-Identifier: Apache-2.0
"""The demo on a real stack: real containers under the real kernel."""

from pathlib import Path
from typing import Any

from demo import picture
from demo import story
from demo.frame import Demo
from demo.outside import Hog
from demo.shell import Client
from demo.shell import DemoError
from demo.shell import progress
from demo.shell import say
from demo.shell import step
from nova_rt.virt.cgroup import dialect
from stack import kernel
from stack import prerequisites
from stack.cloud import Cloud
from stack.rundir import RunDir
from stack.service import Site

CAP = 0.95
# 60%, where 25% are left.
TOO_MUCH_US = 120_000
WINDOW = 10.0  # seconds; whole periods of the reservations
OUTSIDE = 5  # seconds that the FIFO hog outside may run
TOLERANCE = 0.01  # one percentage point


class RealDemo(Demo):
    """One run; see base class."""

    def __init__(self, rundir: Path, keep: bool) -> None:
        super().__init__(RunDir(rundir), keep)
        self._kernel = _dialect()
        self._cloud = Cloud(Site(self.rundir), report=progress)

    def introduce(self) -> None:
        """See base class."""
        say(f'mode: container, dialect: {self._kernel.name}')
        say(f'On this kernel, {self._kernel.guarantee}.')

    def up(self) -> None:
        """See base class."""
        with step(1, 'A real OpenStack on loopback'):
            self._cloud.up()

    def story(self) -> None:
        """See base class."""
        memory = sum(row[2] for row in self._cloud.status()) / 1024
        say(f'   It takes {memory:.0f} MiB of memory.')
        operator = Client(self._cloud.environment('admin'), 'operator')
        user = Client(self._cloud.environment('demo'), 'user')
        story.flavor(operator, 2)
        story.servers(user, 3, ('busybox-hog', 'busybox-hog-rr'))
        self._shares([
            self._container(operator, user.server(name))
            for name in ('web', 'db')], 5)
        story.bad_hints(user, 6)
        story.no_room(user, 7, TOO_MUCH_US)
        if not self.keep:
            story.delete(user, 8)
            self._check_budget()
            self.nothing_left(list(self._kernel.tree.children('machine')))

    def _container(self, operator: Client, server: Any) -> kernel.Container:
        shown = operator.cloud.compute.get_server(server.id)
        try:
            return kernel.container(
                self._kernel, server.name, shown.instance_name)
        except FileNotFoundError as exc:
            raise DemoError(str(exc)) from None

    def _shares(self, running: list[kernel.Container], number: int) -> None:
        with step(number, 'What the containers get'):
            say('Reserved, as the kernel has it:')
            say(picture.host(running, CAP))
            say(f'\nIn each, a hog burns CPU ({WINDOW:.0f} s): SCHED_FIFO in '
                'web, SCHED_RR in db.')
            self._must_hold(running)
            say('\nThe same with a SCHED_OTHER hog outside, on every pCPU:')
            with self._hog('other', '0'):
                self._must_hold(running)
            self._fifo_outside(running)

    def _must_hold(self, running: list[kernel.Container]) -> None:
        measured = kernel.measure(running, WINDOW)
        say(picture.comparison(running, measured))
        distance = picture.farthest(running, measured)
        if distance > TOLERANCE:
            raise DemoError(
                f'A measured share is {distance * 100:.2f} points from the '
                'reserved one; it should be within one point.')

    def _fifo_outside(self, running: list[kernel.Container]) -> None:
        cpu = max(running[0].shares)
        say(f'\nAnd with a SCHED_FIFO hog of priority 50 outside, in the root '
            f'group, on pCPU {cpu}:')
        with self._hog('fifo', '50', cpu):
            say(picture.comparison(
                running, kernel.measure(running, OUTSIDE)))
        if isinstance(self._kernel, dialect.RTGroup):
            say('  This is what stock RT groups cannot prevent: a real-time '
                'task outside, of higher\n  priority, takes the time that is '
                'reserved. Their budgets limit, they do not guarantee.')

    def _hog(self, policy: str, priority: str, cpu: int | None = None) -> Hog:
        # It ends by itself if the demo dies.
        limit = OUTSIDE + 2 if policy == 'fifo' else WINDOW + 5
        return Hog(self._cloud, policy, priority, cpu, limit)

    def _check_budget(self) -> None:
        if self._kernel.tree.exists('machine') and any(
                self._kernel.read('machine').runtimes_us):
            raise DemoError('Runtime is left in the group "machine".')

    def how_to_reach(self) -> list[str]:
        """See base class."""
        return [f'eval "$({self.rundir.command("env")} demo)"']

    def down(self) -> list[str]:
        """See base class."""
        return self._cloud.down()


def _dialect() -> dialect.Dialect:
    spoken = kernel.spoken()
    if spoken is None:
        raise DemoError(prerequisites.missing_for_containers())
    return spoken
