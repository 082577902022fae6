# SPDX-License-Identifier: Apache-2.0
"""``python -m stack.tempest``: run our tempest tests on a stack of their own.

``NOVA_RT_TEMPEST_RUN_DIR`` names the run directory of a stack that is up; it
is then used and left running. The results are in ``.tox/junit/tempest.xml``,
what tempest wrote in ``tempest/`` of the run directory.
"""

import argparse
import os
from pathlib import Path
import shutil
import subprocess
import sys

from stack import ini
from stack import junit
from stack import prerequisites
from stack import tempest_conf
from stack.__main__ import progress
from stack.cloud import Cloud
from stack.errors import StackError
from stack.interruption import interruptible
from stack.rundir import RunDir
from stack.service import Site

ROOT = Path(__file__).parents[1]
JUNIT = ROOT / '.tox' / 'junit' / 'tempest.xml'
OURS = 'nova_rt_tempest_plugin'


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        prog='python -m stack.tempest',
        description='Run the tempest tests of nova-rt on a real stack.')
    parser.add_argument(
        '--with-mano', action='store_true',
        help='with Heat, Tacker and Neutron, and the test of a VNF')
    parser.add_argument(
        '--nodes', type=int, default=0, metavar='N',
        help='with so many compute nodes in virtual machines, on our kernel')
    parser.add_argument(
        '--machines', action='store_true',
        help='with virtual machines instead of containers, on this machine')
    parser.add_argument(
        '--hosts', type=int, default=1, choices=(1, 2),
        help='how many hosts of virtual machines this machine is (default: %(default)s)')
    parser.add_argument(
        'regex', nargs='?', default=OURS,
        help='which tests (default: %(default)s)')
    return parser.parse_args(arguments)


def run(site: Site, regex: str, results: Path = JUNIT) -> int:
    """Run the tests one at a time, print and count them; return the status.

    :param results: where to write what came of them.
    """
    folder = site.rundir.path / 'tempest'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = folder / 'tempest.conf'
    ini.write(config, tempest_conf.configuration(site, folder))
    stream = folder / 'results.subunit'
    with stream.open('wb') as output, (folder / 'stderr').open('wb') as errors:
        status = subprocess.run(
            (site.script('tempest'), 'run', '--config-file', str(config),
             '--regex', regex, '--serial', '--subunit'),
            cwd=folder, stdout=output, stderr=errors).returncode
    counts = junit.convert(stream, results)
    print(f'tempest: {counts["passed"]} passed, {counts["failed"]} failed, '
          f'{counts["skipped"]} skipped; details in {folder}', flush=True)
    if not sum(counts.values()):
        print(f'No test ran: see {folder}/stderr.', file=sys.stderr)
        return 1
    return 1 if counts['failed'] else status


def main(arguments: list[str] | None = None) -> int:
    """Start a stack, run the tests, stop it; return the exit status."""
    args = parse(sys.argv[1:] if arguments is None else arguments)
    interruptible()
    try:
        return _main(args)
    except StackError as exc:
        print(exc, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('Interrupted.', file=sys.stderr)
        return 130


def _main(args: argparse.Namespace) -> int:
    JUNIT.parent.mkdir(parents=True, exist_ok=True)
    JUNIT.unlink(missing_ok=True)
    run_dir = os.environ.get('NOVA_RT_TEMPEST_RUN_DIR')
    if run_dir:
        return run(Site.of(RunDir(run_dir)), args.regex)
    if reason := prerequisites.missing(_virt_type(args), args.hosts, args.nodes):
        print(f'Skipped: {reason}')
        junit.skipped(OURS, reason, JUNIT)
        return 0
    return _on_own_stack(args)


def _virt_type(args: argparse.Namespace) -> str:
    return 'qemu' if args.machines or args.hosts > 1 else 'lxc'


def _on_own_stack(args: argparse.Namespace) -> int:
    site = Site(RunDir(ROOT / 'run' / 'tempest'),
                more=('mano', 'network') if args.with_mano else (),
                nodes=args.nodes, hosts=args.hosts,
                virt_type=_virt_type(args))
    cloud = Cloud(site, report=progress)
    cloud.up()
    try:
        status = run(site, args.regex)
    finally:
        problems = cloud.down()
        for problem in problems:
            print(problem, file=sys.stderr)
    return 1 if problems else status


if __name__ == '__main__':
    sys.exit(main())
