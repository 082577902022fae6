# SPDX-License-Identifier: Apache-2.0
"""What the commands of nova-rt-plan have in common."""

import argparse
import os
import sys

from cliff import app
from cliff import command

from nova_rt import errors


class Command(command.Command):
    """A command that answers a question, or says in a sentence why not."""

    def __init__(self, app: app.App,
                 app_args: argparse.Namespace | None) -> None:
        # Without cmd_name, for whose hooks cliff searches every distribution.
        super().__init__(app, app_args)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return a parser that takes no option by a part of its name."""
        parser = super().get_parser(prog_name)
        parser.allow_abbrev = False
        return parser

    def get_epilog(self) -> str:
        """Return nothing: cliff searches every distribution for its name."""
        return ''

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Answer; return the exit status."""
        try:
            status = super().run(parsed_args)
            # Here, since nobody catches what fails when Python ends.
            print(end='', flush=True)
            return status
        except errors.NovaRTError as exc:
            return _refuse(str(exc))
        except BrokenPipeError:
            # The reader has seen enough.
            _discard_output()
            return 0
        except OSError as exc:
            if exc.filename is None:
                _discard_output()
            return _refuse(f'{exc.filename or "The output"}: {exc.strerror}.')
        except ModuleNotFoundError as exc:
            return _refuse(f'This needs the Python package {exc.name}: '
                           "install 'nova-rt[plan]'.")


def _discard_output() -> None:
    # Python would try to write the rest again when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(sentence: str) -> int:
    print(f'nova-rt-plan: {sentence}', file=sys.stderr)
    return 2
