# SPDX-License-Identifier: Apache-2.0
"""``python -m stack up|down|restart|status|env``."""

import argparse
import shlex
import subprocess
import sys
import time

from stack import admission
from stack import nodes
from stack.cloud import Cloud
from stack.errors import StackError
from stack.interruption import interruptible
from stack.rundir import RunDir
from stack.service import Site
from stack.services import MORE
from stack.services import openvswitch

SHORTEST = 0.5  # seconds: what took less is not worth a line


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        prog='python -m stack',
        description='A real OpenStack with LXC containers on loopback.')
    parser.add_argument(
        '--run-dir', default='run/stack',
        help='where all its data are (default: %(default)s)')
    commands = parser.add_subparsers(dest='command', required=True)
    up = commands.add_parser('up', help='start it')
    up.add_argument(
        '--compute', default='nova-rt-compute', metavar='COMMAND',
        help='the compute service (default: %(default)s)')
    up.add_argument(
        '--stock', action='store_true',
        help='without nova-rt: Nova as released, with nova-compute')
    up.add_argument(
        '--with', dest='more', action='append', default=[],
        choices=sorted(MORE),
        help='what to start besides; alarms: Aodh; dashboard: Horizon; leases: Blazar; '
             'mano: Heat and Tacker; network: Neutron and Open vSwitch; optimizer: Watcher')
    up.add_argument(
        '--nodes', type=int, default=0, choices=range(nodes.MOST + 1),
        help='so many compute nodes in virtual machines, with our kernel, '
             'instead of this machine (default: %(default)s)')
    up.add_argument(
        '--virt-type', default='lxc', choices=('lxc', 'qemu', 'kvm'),
        help='with virtual machines instead of containers: qemu or kvm')
    up.add_argument(
        '--hosts', type=int, default=1, choices=(1, 2),
        help='how many hosts of virtual machines this machine is (default: %(default)s)')
    commands.add_parser('down', help='stop it and give everything back')
    restart = commands.add_parser('restart', help='stop and start one part')
    restart.add_argument('name', help='as "status" names it')
    outside = commands.add_parser(
        'outside', help='run a command where containers are reached, with '
                        '"up --with network"')
    outside.add_argument('words', nargs=argparse.REMAINDER, metavar='COMMAND')
    commands.add_parser('status', help='its processes and their memory')
    env = commands.add_parser(
        'env', help='the variables for the openstack client')
    env.add_argument(
        'user', nargs='?', default='admin', choices=('admin', 'demo'))
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit status."""
    args = parse(sys.argv[1:] if arguments is None else arguments)
    interruptible()
    try:
        return COMMANDS[args.command](args)
    except StackError as exc:
        print(exc, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('Interrupted.', file=sys.stderr)
        return 130


def up(args: argparse.Namespace) -> int:
    """Start the stack and say how to use it."""
    started = time.monotonic()
    if args.hosts > 1 and args.virt_type == 'lxc':
        raise StackError('Two hosts are for virtual machines: add "--virt-type qemu".')
    if args.stock and 'leases' in args.more:
        raise StackError('Leases are of what nova-rt reserves: leave out "--stock".')
    site = Site(
        RunDir(args.run_dir), nova_rt=not args.stock,
        compute='nova-compute' if args.stock else args.compute,
        more=args.more, nodes=args.nodes, virt_type=args.virt_type, hosts=args.hosts)
    Cloud(site, report=progress).up()
    if site.runs_machines:
        (site.rundir.data / admission.KEPT).touch()
    print(f'The stack is up after {time.monotonic() - started:.1f} s.')
    print(f'Use it:  eval "$({site.rundir.command("env")})"; '
          'openstack server list')
    print(f'Stop it: {site.rundir.command("down")}')
    return 0


def down(args: argparse.Namespace) -> int:
    """Stop the stack, whether all of it or a part still runs."""
    rundir = RunDir(args.run_dir)
    if not rundir.in_use:
        print(f'There is no stack in {rundir.path}.')
        return 0
    problems = Cloud(Site.of(rundir)).down()
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f'The stack is down; its logs are in {rundir.logs}.')
    return 1 if problems else 0


def restart(args: argparse.Namespace) -> int:
    """Start one part again."""
    Cloud(Site.of(RunDir(args.run_dir))).restart(args.name)
    return 0


def status(args: argparse.Namespace) -> int:
    """List the processes."""
    rows = Cloud(Site.of(RunDir(args.run_dir))).status()
    for name, state, memory in rows:
        print(f'{name:26} {state:8} {memory / 1024:7.0f} MiB')
    print(f'{"total":26} {len(rows):<8} '
          f'{sum(row[2] for row in rows) / 1024:7.0f} MiB')
    return 0 if rows and all(row[1] == 'running' for row in rows) else 1


def outside(args: argparse.Namespace) -> int:
    """Run a command outside of the cloud; return its exit status."""
    site = Site.of(RunDir(args.run_dir))
    if not site.has_network:
        raise StackError('This stack was started without "--with network".')
    command = openvswitch.outside(site, *args.words)
    return subprocess.run(command, check=False).returncode


def env(args: argparse.Namespace) -> int:
    """Print the client's variables for the shell."""
    variables = Cloud(Site.of(RunDir(args.run_dir))).environment(args.user)
    for key, value in variables.items():
        print(f'export {key}={shlex.quote(value)}')
    return 0


def progress(name: str, seconds: float) -> None:
    """Print one line for a part that took a while."""
    if seconds >= SHORTEST:
        print(f'  {name:28} {seconds:5.1f} s', flush=True)


COMMANDS = {'up': up, 'down': down, 'restart': restart,
            'status': status, 'outside': outside, 'env': env}

if __name__ == '__main__':
    sys.exit(main())
