# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan: try reservations at a desk, without a cloud."""

import argparse
from collections.abc import Sequence
import os
import sys

from nova_rt import reservation
from nova_rt.cmd import plan_analyse
from nova_rt.cmd import plan_capacity
from nova_rt.cmd import plan_plot
from nova_rt.cmd import plan_simulate
from nova_rt.cmd import plan_size
from nova_rt.model import checks

SUBCOMMANDS = (plan_size, plan_analyse, plan_simulate, plan_capacity,
               plan_plot)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the console script and return its exit status.

    0 if the question was answered, whatever the answer; 2 for a question
    that cannot be answered, with one sentence on standard error.
    """
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except (checks.ModelError, reservation.InvalidReservationError) as error:
        return _refused(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader has seen enough; keep Python from flushing more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return _refused(f'{error.filename}: {error.strerror}.')
    except ModuleNotFoundError as error:
        return _refused(f'This needs the Python package {error.name}: '
                        "install 'nova-rt[plan]'.")
    except KeyboardInterrupt:
        return 130
    return status


def _refused(sentence: str) -> int:
    print(f'nova-rt-plan: {sentence}', file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='nova-rt-plan', description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    for subcommand in SUBCOMMANDS:
        subcommand.add_parser(commands)
    return parser


if __name__ == '__main__':
    sys.exit(main())
