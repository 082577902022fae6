# SPDX-License-Identifier: Apache-2.0
"""``python -m experiments NAME``: run an experiment, print and write its results."""

import argparse
import importlib
from pathlib import Path
import sys

from experiments import guest
from experiments import output

RESULTS = Path(__file__).resolve().parent / 'results'
# Source, and the estimated time on one idle core.
EXPERIMENTS = {
    'queueing': 'OpenStack paper 6.2: Figure 6 and Table 3; 25 minutes',
    'tasksets': 'KubeDeadline 5.1: Figure 6; 5 minutes',
    'orchestration': 'RT-Kube V-B: Table III; 5 minutes',
    'tokenbucket': 'OpenStack paper 6.3: Figure 7; 3 minutes',
    'ims': 'OpenStack paper 6.4: Figure 8; 10 minutes',
    'recovery': 'RT-Kube V-D and V-E: Table VII; 20 minutes',
    'evictions': 'RT-Kube V-E: evictions by a whole Nova; 40 minutes',
    'robot': 'RT-Kube V-C and V-E: Table V and Figure 9; 30 minutes',
    'machines': 'task sets in virtual machines, against their analysis; 9 minutes',
}


def main(argv: list[str] | None = None) -> int:
    """Return 0 if everything was measured."""
    parser = argparse.ArgumentParser(
        prog='python -m experiments',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='\n'.join(f'  {name:14}{what}'
                         for name, what in EXPERIMENTS.items()))
    parser.add_argument('name', choices=EXPERIMENTS)
    parser.add_argument('--quick', action='store_true',
                        help='a small version, of seconds, to see that it runs')
    parser.add_argument('--reuse', action='store_true',
                        help='do not measure again what was measured before')
    parser.add_argument('--requests', type=int,
                        help='how many at each point, of those with a queue')
    parser.add_argument('--out', type=Path, default=RESULTS,
                        help='folder for CSV, SVG and PNG (%(default)s)')
    args = parser.parse_args(argv)
    print(f'{args.name}: {EXPERIMENTS[args.name]}', flush=True)
    reason = guest.missing()
    if reason:
        print(reason, file=sys.stderr)
        return 1
    try:
        folder = output.Folder(args.out, args.reuse)
        more = {'requests': args.requests} if args.requests else {}
        points = importlib.import_module(f'experiments.{args.name}').run(
            folder, args.quick, **more)
        # Imported late: only drawing needs Matplotlib.
        importlib.import_module(f'experiments.{args.name}_pictures').draw(
            folder, points)
    except guest.GuestError as exc:
        print(exc, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == '__main__':
    sys.exit(main())
