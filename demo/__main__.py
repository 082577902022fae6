# SPDX-License-Identifier: Apache-2.0
"""``python -m demo [--mode auto|vm|container|hcbs|embedded] [--keep]``."""

import argparse
from pathlib import Path
import sys

from demo import hcbs
from demo import machines
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
        '--mode', choices=('auto', 'vm', 'container', 'real', 'hcbs',
                            'hcbs-virtual-time', 'embedded'), default='auto',
        help='virtual machines on this machine; containers on it (real means the same); '
             'containers in a virtual machine with our kernel, or only its compute side '
             'in deterministic time; or one process with simulated hosts. auto takes '
             'container where it is possible, otherwise vm, otherwise embedded')
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
    mode = 'container' if args.mode == 'real' else args.mode
    reasons = {} if mode == 'embedded' else {
        kind: missing() for kind, missing in (
            ('container', prerequisites.missing_for_containers),
            ('vm', prerequisites.missing_for_machines)) if mode in ('auto', kind)}
    if reasons.get(mode):
        raise DemoError(reasons[mode])
    possible = [kind for kind, reason in reasons.items() if not reason]
    if not possible:
        # Nova's test fixtures, which the real modes do not need.
        from demo import embedded
        embedded.EmbeddedDemo(args.run_dir, args.keep, ' '.join(
            dict.fromkeys(reasons.values()))).run()
    elif possible[0] == 'container':
        real.RealDemo(args.run_dir, args.keep).run()
    else:
        machines.MachineDemo(args.run_dir, args.keep).run()


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
