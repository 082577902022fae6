# SPDX-License-Identifier: Apache-2.0
"""``python -m demo [--mode auto|real|hcbs|embedded] [--keep]``."""

import argparse
from pathlib import Path
import sys

from demo import hcbs
from demo import real
from demo.shell import DemoError
from stack import prerequisites
from stack.errors import StackError
from stack.interruption import interruptible

ROOT = Path(__file__).resolve().parent.parent


def parse() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog='python -m demo')
    parser.add_argument(
        '--mode', choices=('auto', 'real', 'hcbs', 'hcbs-virtual-time',
                            'embedded'), default='auto',
        help='real containers on this machine; the same in a virtual '
             'machine with our kernel, or only its compute side in '
             'deterministic time; or one process with simulated hosts. '
             'auto takes real where it is possible, otherwise embedded')
    parser.add_argument(
        '--keep', action='store_true', help='leave it running at the end')
    parser.add_argument(
        '--run-dir', type=Path, default=ROOT / 'run' / 'demo',
        help='where all data are (default: %(default)s)')
    return parser.parse_args()


def main() -> int:
    """Run the demo; return 0 if everything was as shown."""
    args = parse()
    interruptible()
    try:
        _run(args)
    except (DemoError, StackError) as exc:
        print(f'\n{exc}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\nInterrupted; everything was given back.', file=sys.stderr)
        return 130
    return 0


def _run(args: argparse.Namespace) -> None:
    if args.mode.startswith('hcbs'):
        _run_hcbs(args)
        return
    reason = '' if args.mode == 'embedded' else prerequisites.missing_for_containers()
    if args.mode == 'real' and reason:
        raise DemoError(reason)
    if args.mode == 'embedded' or reason:
        # Nova's test fixtures, which the real mode does not need.
        from demo import embedded
        embedded.EmbeddedDemo(args.run_dir, args.keep, reason).run()
    else:
        real.RealDemo(args.run_dir, args.keep).run()


def _run_hcbs(args: argparse.Namespace) -> None:
    reason = prerequisites.missing_for_nodes()
    if reason:
        raise DemoError(reason)
    if args.mode == 'hcbs':
        hcbs.HcbsDemo(args.run_dir, args.keep).run()
    else:
        hcbs.in_virtual_time(args.run_dir)


if __name__ == '__main__':
    sys.exit(main())
