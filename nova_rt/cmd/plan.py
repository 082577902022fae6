# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan: try reservations at a desk, without a cloud.

A command is a class of cliff's, named in the entry points ``nova_rt.plan``;
there is one module for each noun or verb. Nothing of Nova is imported.
"""

import argparse
from collections.abc import Sequence
import importlib.metadata
import inspect
import sys
from typing import Any

from cliff import app
from cliff import commandmanager

COMMANDS = 'nova_rt.plan'
DISTRIBUTION = 'nova-rt'


class _Commands(commandmanager.CommandManager):
    """The entry points of nova-rt: cliff loads those of all that is installed.

    That takes longer than most answers.
    """

    def load_commands(self, namespace: str) -> None:
        """Find the commands of a namespace, without importing them."""
        entry_points = importlib.metadata.distribution(
            DISTRIBUTION).entry_points
        for entry_point in entry_points.select(group=namespace):
            self.commands[entry_point.name.replace('_', ' ')] = entry_point


class Plan(app.App):
    """The program; each command is looked up among the entry points."""

    NAME = 'nova-rt-plan'

    def __init__(self) -> None:
        super().__init__(
            description='Try reservations at a desk, without a cloud.',
            version=importlib.metadata.version(DISTRIBUTION),
            command_manager=_Commands(COMMANDS),
            deferred_help=True)

    def build_option_parser(
            self, description: str | None, version: str | None,
            argparse_kwargs: dict[str, Any] | None = None,
    ) -> argparse.ArgumentParser:
        """Return a parser without cliff's options for logs: there are none."""
        parser = argparse.ArgumentParser(
            prog=self.NAME, description=description, add_help=False,
            usage='%(prog)s [-h] [--version] COMMAND ...', allow_abbrev=False)
        parser.add_argument('-h', '--help', dest='deferred_help',
                            action='store_true',
                            help='show this help message and exit')
        parser.add_argument('--version', action='version',
                            version=f'{self.NAME} {version}')
        # What nobody expected keeps its traceback.
        parser.set_defaults(debug=True)
        return parser

    def configure_logging(self) -> None:
        """Leave logging alone: at cliff's level Numba compiles far slower."""

    def initialize_app(self, argv: list[str]) -> None:
        """Let a command show its own help, whatever other options it has."""
        if argv == ['help']:
            self.options.deferred_help = True
        elif argv[:1] == ['help'] and self._is_command(argv[1:]):
            argv[:] = [*argv[1:], '--help']

    def print_help_if_requested(self) -> None:
        """Show the help; cliff's searches every installed distribution."""
        if not self.options.deferred_help:
            return
        self.parser.print_help()
        print('\ncommands:')
        for name, entry_point in sorted(self.command_manager):
            text = inspect.getdoc(entry_point.load()) or ''
            print(f'  {name:<14}  {text.splitlines()[0].rstrip(".")}')
        sys.exit(0)

    def interact(self) -> None:
        """Refuse where cliff would start a shell."""
        self.parser.error('the following arguments are required: COMMAND')

    def run_subcommand(self, argv: list[str]) -> int:
        """Run a command; refuse another on standard error, unlike cliff."""
        if not self._is_command(argv):
            names = [name for name, _ in sorted(self.command_manager)]
            similar = [name for name in names
                       if name.split()[0] == argv[0]] or names
            self.parser.error(
                f'{argv[0]!r} is not a command: give one of '
                f'{", ".join(similar)}')
        return super().run_subcommand(argv)

    def _is_command(self, argv: list[str]) -> bool:
        # In full: cliff would take "sim" for "simulate", too.
        try:
            _, name, _ = self.command_manager.find_command(argv)
        except ValueError:
            return False
        return name in self.command_manager.commands


def main(argv: Sequence[str] | None = None) -> int:
    """Run the console script and return its exit status.

    0 if the question was answered, whatever the answer; 2 for a question
    that cannot be answered, with one sentence on standard error.
    """
    return Plan().run(list(sys.argv[1:] if argv is None else argv))


if __name__ == '__main__':
    sys.exit(main())
