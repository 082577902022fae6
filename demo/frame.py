# SPDX-License-Identifier: Apache-2.0
"""The steps of the demo in every mode: start, story, clean up or keep."""

from abc import ABC
from abc import abstractmethod
import time
from typing import ClassVar

from demo.shell import BOLD
from demo.shell import client
from demo.shell import DemoError
from demo.shell import paint
from demo.shell import say
from demo.shell import step
from stack.rundir import RunDir


class Demo(ABC):
    """One run.

    :cvar last_step: the number of the step that cleans up.
    :param rundir: where all data is.
    :param keep: whether the cloud stays when the demo is over.
    """

    last_step: ClassVar[int] = 9

    def __init__(self, rundir: RunDir, keep: bool) -> None:
        self.rundir = rundir
        self.keep = keep

    def run(self) -> None:
        """Run all steps.

        :raises DemoError: if something is not as the demo shows it.
        """
        started = time.monotonic()
        self.introduce()
        # Not in the try: up() cleans up after itself, and a cloud that an earlier
        # run kept stays.
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
            with step(self.last_step, 'Giving everything back'):
                left = self.down()
            if left:
                raise DemoError('\n'.join(left))
        say()
        say(f'The demo took {time.monotonic() - started:.0f} s.')

    @abstractmethod
    def introduce(self) -> None:
        """Print what is real; the first line names mode and dialect."""

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
        """Return the shell commands that set up a client for the demo's user."""

    def nothing_left(self, groups: list[str]) -> None:
        """Check, and print, that no container's group is left in the kernel.

        :raises DemoError: if a group is left.
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
