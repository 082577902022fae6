# SPDX-License-Identifier: Apache-2.0
"""What a demo does in every mode: begin, tell its story, give back or keep."""

from abc import ABC
from abc import abstractmethod
import time

from demo.shell import BOLD
from demo.shell import client
from demo.shell import DemoError
from demo.shell import paint
from demo.shell import say
from demo.shell import step
from stack.rundir import RunDir


class Demo(ABC):
    """One run.

    :param rundir: where all data are.
    :param keep: whether the cloud stays when the demo is over.
    """

    def __init__(self, rundir: RunDir, keep: bool) -> None:
        self.rundir = rundir
        self.keep = keep

    def run(self) -> None:
        """Show everything.

        :raises DemoError: if something is not as it is said to be.
        """
        started = time.monotonic()
        self.introduce()
        # Which leaves all or nothing, and a cloud that was kept alone.
        self.up()
        try:
            self.story()
        except BaseException as exc:
            left = self.down()
            if left:
                raise DemoError('\n'.join(
                    [str(exc) or 'Interrupted.', *left])) from exc
            raise
        if self.keep:
            self._say_how_to_use()
        else:
            with step(9, 'Giving everything back'):
                left = self.down()
            if left:
                raise DemoError('\n'.join(left))
        say()
        say(f'The demo took {time.monotonic() - started:.0f} s.')

    @abstractmethod
    def introduce(self) -> None:
        """Say what is real; the first line names mode and dialect."""

    @abstractmethod
    def up(self) -> None:
        """Start the cloud."""

    @abstractmethod
    def story(self) -> None:
        """Run the commands."""

    @abstractmethod
    def down(self) -> list[str]:
        """Stop the cloud; return what could not be given back."""

    @abstractmethod
    def how_to_reach(self) -> list[str]:
        """Return the shell commands that make a client the demo's user."""

    def nothing_left(self, groups: list[str]) -> None:
        """Say that no group of a container is left in the kernel.

        :raises DemoError: if one is.
        """
        for group in groups:
            raise DemoError(f'The group {group} is left in the kernel.')
        say('   Nothing is left in the kernel.')

    def _say_how_to_use(self) -> None:
        say()
        say(paint(BOLD, 'The cloud is left running. Use it:'))
        for command in self.how_to_reach():
            say(f'  {command}')
        say(f'  {client()} server list')
        say(paint(BOLD, 'Stop it, and give everything back:'))
        say(f'  {self.rundir.command("down")}')
