# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage: what an operator asks and does on the command line.

A command is a class of cliff's, named in the entry points ``nova_rt.manage``;
there is one module for each noun. It is configured as nova-manage is.
"""

import argparse
from collections.abc import Sequence
import importlib.metadata
import logging
import sys
from typing import Any

from cliff import app
from cliff import command
from cliff import commandmanager
from oslo_config import cfg

from nova_rt.cmd import manage_base

COMMANDS = 'nova_rt.manage'


class Manage(app.App):
    """The program; each command is looked up among the entry points."""

    # Warnings; each -v shows more of what the libraries log.
    DEFAULT_VERBOSE_LEVEL = 0

    def __init__(self) -> None:
        super().__init__(
            description='Look after real-time CPU reservations in a Nova '
                        'deployment.',
            version=importlib.metadata.version('nova-rt'),
            command_manager=commandmanager.CommandManager(COMMANDS),
            deferred_help=True)

    def build_option_parser(
            self, description: str | None, version: str | None,
            argparse_kwargs: dict[str, Any] | None = None,
            ) -> argparse.ArgumentParser:
        """Add the options that name nova.conf, spelt as nova-manage's."""
        parser = super().build_option_parser(
            description, version, argparse_kwargs)
        for name, what in (('file', 'FILE'), ('dir', 'DIR')):
            parser.add_argument(
                f'--config-{name}', metavar=what, action='append', default=[],
                help='configuration, nova.conf by default; may be repeated')
        return parser

    def configure_logging(self) -> None:
        """Leave out what oslo.db logs of an error that a sentence reports."""
        super().configure_logging()
        if not self.options.verbose_level:
            logging.getLogger('oslo_db').setLevel(logging.CRITICAL)

    def prepare_to_run_command(self, cmd: command.Command) -> None:
        """Read nova.conf before the command is run."""
        try:
            manage_base.read_nova_conf(
                self.options.config_file, self.options.config_dir)
        except cfg.Error as exc:
            raise manage_base.CommandError(
                f'The configuration cannot be read: {exc}') from None

    def interact(self) -> int:  # type: ignore[override]  # cliff returns it as the status
        """Show the help where cliff would start a shell."""
        self.parser.print_help()
        return 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    return Manage().run(list(sys.argv[1:] if argv is None else argv))


if __name__ == '__main__':
    sys.exit(main())
