# SPDX-License-Identifier: Apache-2.0
"""The demo of section 5.2 of the OpenStack paper, on a node with our kernel.

The compute node is a virtual machine with 4 pCPUs. Its kernel schedules real
containers, which real OpenStack services create.
"""

from collections.abc import Callable
from collections.abc import Mapping
from pathlib import Path

from demo.frame import Demo
from demo.shell import Client
from demo.shell import DemoError
from demo.shell import progress
from demo.shell import say
from demo.shell import step
from stack.cloud import Cloud
from stack.nodes import alone
from stack.nodes import containers
from stack.rundir import RunDir
from stack.service import Site

PERIOD_US = 200_000
# Name: percent of each vCPU, vCPUs, pCPUs (figure 5 of the paper).
PAPER = {'a': (50, 2, {0, 1}), 'b': (30, 1, {2}), 'c': (40, 3, {3, 2, 0})}
TOO_LARGE = (75, 1)
FLAVOR = (
    'openstack flavor create {0}x{1} --vcpus {1} --ram 64 --disk 1 '
    '--property hw:cpu.rt_runtime_us={2} --property hw:cpu.rt_period_us={3} '
    '-c name -c properties')
CREATE = ('openstack server create {} --flavor {} --image {} --nic none '
          '-c name -c status')
PATIENCE = 600.0  # seconds until a server is active, on a busy machine
# Seconds; whole periods of the reservations. Each is measured if the one before was too
# short: see measure().
WINDOWS = (10.0, 20.0, 40.0, 80.0, 160.0)
TOLERANCE = 0.01  # one percentage point
EXACT = 0.002  # the same where time is deterministic


def measure(look: Callable[[float], Mapping[str, containers.Container]],
            tolerance: float) -> Mapping[str, containers.Container]:
    """Return what each container gets, measured for as long as it takes to judge.

    The emulated pCPUs wait for this machine's processors. One that waits gets its timer
    interrupts late, so a container's time moves into or out of the window at its two
    ends. How much does not depend on the length of the window, so its part in a longer
    one is smaller: a busy machine makes this slow. A share that is wrong stays wrong.

    :param look: measures for a number of seconds.
    :param tolerance: largest distance from the reservation, as a fraction.
    """
    for seconds in WINDOWS[:-1]:
        running = look(seconds)
        if not farther(running, tolerance):
            return running
        say(f'  Not within {tolerance * 100:g} points in {seconds:g} s, as on a busy '
            'machine: measuring twice as long.')
    return look(WINDOWS[-1])


def farther(running: Mapping[str, containers.Container],
            tolerance: float) -> list[str]:
    """Return the containers that are farther from their reservation, sorted."""
    return sorted(name for name, container in running.items()
                  if any(container.runtimes_us) and container.farthest > tolerance)


def must_hold(running: Mapping[str, containers.Container],
              tolerance: float) -> None:
    """Print how much each container gets of each pCPU.

    :param tolerance: largest distance from the reservation, as a fraction.
    :raises DemoError: if a container is farther away from its reservation.
    """
    say('  server              pCPU   reserved   measured by cpu.rt_stat')
    for name, container in sorted(running.items()):
        if not any(container.runtimes_us):
            continue
        for pcpu, reserved in enumerate(container.reserved):
            say(f'  {name:18} {pcpu:5}   {reserved:8.2%}   '
                f'{container.shares[pcpu]:8.2%}')
    for name in farther(running, tolerance):
        raise DemoError(
            f'Server {name} is {running[name].farthest * 100:.2f} points from what '
            f'is reserved; it should be within {tolerance * 100:g}.')


def in_virtual_time(rundir: Path) -> None:
    """Print what the paper's containers get in deterministic time.

    :raises DemoError: if it is more than 0.2 points from the reservation.
    """
    with step(1, 'The containers of the paper on a node in deterministic '
                 'virtual time, without a control plane'):
        say('   An instruction takes 8 ns, waiting takes no time. This takes '
            'minutes.')
        must_hold(alone.measure(rundir), EXACT)


class HcbsDemo(Demo):
    """One run; see base class."""

    def __init__(self, rundir: Path, keep: bool) -> None:
        super().__init__(RunDir(rundir), keep)
        self._cloud = Cloud(Site(self.rundir, nodes=1), report=progress)
        self._node = self._cloud.node(1)

    def introduce(self) -> None:
        """See base class."""
        say('mode: hcbs, dialect: hcbs-multi')
        say('The compute node is a virtual machine of 4 pCPUs with our kernel. '
            'The first time, kernel and\nfile system are built: that takes '
            f'long; the progress is in {self.rundir.logs}.')

    def up(self) -> None:
        """See base class."""
        with step(1, 'A real OpenStack, and a compute node on our kernel'):
            self._cloud.up()

    def story(self) -> None:
        """See base class."""
        operator = Client(self._cloud.environment('admin'), 'operator')
        user = Client(self._cloud.environment('demo'), 'user')
        self._flavors(operator)
        self._servers(user, operator)
        self._neighbours(user, operator)
        self._too_large(user, operator)
        self._make_room(user, operator)
        if not self.keep:
            self._end(user)

    def _flavors(self, operator: Client) -> None:
        with step(2, 'Flavors: how much on each of how many vCPUs'):
            for percent, vcpus in (
                    *((percent, vcpus) for percent, vcpus, _ in PAPER.values()),
                    TOO_LARGE):
                operator.run(FLAVOR.format(
                    percent, vcpus, PERIOD_US * percent // 100, PERIOD_US))
            operator.run('openstack flavor create plain --vcpus 4 --ram 64 '
                         '--disk 1 -c name')

    def _servers(self, user: Client, operator: Client) -> None:
        with step(3, 'The containers of the paper: where do they land?'):
            for name, (percent, vcpus, pcpus) in PAPER.items():
                self._create(user, name, f'{percent}x{vcpus}')
                landed = self._look(operator)[name].pcpus
                say(f'   {name}: {percent}% on each of {vcpus} vCPUs, on the '
                    f'pCPUs {", ".join(map(str, landed))}')
                if set(landed) != pcpus:
                    raise DemoError(f'Server {name} should be on {sorted(pcpus)}.')
            self._show_kernel(self._look(operator))
        with step(4, 'A SCHED_FIFO hog on every vCPU: what does each get?'):
            self._must_hold(operator)

    def _neighbours(self, user: Client, operator: Client) -> None:
        with step(5, 'A noisy neighbour, and a SCHED_FIFO hog of the root '
                     'group, on all pCPUs'):
            user.run(CREATE.format('noisy', 'plain', 'busybox-noisy'))
            user.wait('noisy', 'ACTIVE', PATIENCE)
            self._must_hold(operator)
            say('\n  And with a SCHED_FIFO hog of priority 50 outside of all '
                'groups, on every pCPU:')
            self._must_hold(operator, '/srv/node/hog', 'fifo', '50')
            user.run('openstack server delete --wait noisy')

    def _too_large(self, user: Client, operator: Client) -> None:
        percent, vcpus = TOO_LARGE
        with step(6, f'{percent}% on one vCPU: no pCPU has that much left'):
            user.run(CREATE.format('d', f'{percent}x{vcpus}', 'busybox-hog'))
            try:
                user.wait('d', 'ACTIVE', PATIENCE)
            except DemoError:
                user.run('openstack server show d -c status -c fault -f json')
            else:
                raise DemoError(
                    'Server d was created, although the host has no room for it.')
            config = self.rundir.etc / 'nova' / 'nova.conf'
            said = operator.run(
                f'nova-rt-manage --config-file {config} why '
                f'{user.server("d").id} -c what -c needed -c left -c missing')
            if 'pCPU' not in said:
                raise DemoError('The answer should name the pCPUs.')

    def _make_room(self, user: Client, operator: Client) -> None:
        with step(7, 'Making room: delete what is in the way, and create both '
                     'again'):
            user.run('openstack server delete --wait c d')
            self._create(user, 'd', '75x1')
            self._create(user, 'c', '40x3')
            self._show_kernel(self._look(operator))
            self._must_hold(operator)

    def _end(self, user: Client) -> None:
        with step(8, 'The end of the servers'):
            user.run('openstack server delete --wait a b c d')
            self.nothing_left([container.group for container in
                               containers.look(self._node).values()])

    def _create(self, user: Client, name: str, flavor: str) -> None:
        user.run(CREATE.format(name, flavor, 'busybox-hog'))
        user.wait(name, 'ACTIVE', PATIENCE)

    def _look(self, operator: Client, seconds: float = 0, *beside: str,
              ) -> Mapping[str, containers.Container]:
        """Return the containers by their server's name."""
        by_instance = containers.look(self._node, seconds, *beside)
        return {server.name: by_instance[server.instance_name] for server
                in operator.cloud.compute.servers(all_projects=True)
                if server.instance_name in by_instance}

    def _show_kernel(self, running: Mapping[str, containers.Container]) -> None:
        for name, container in sorted(running.items()):
            say(f'   {name}  cpu.rt_multi_runtime_us: '
                f'{" ".join(map(str, container.runtimes_us)):28} '
                f'cpu.rt_period_us: {container.period_us}')

    def _must_hold(self, operator: Client, *beside: str) -> None:
        must_hold(measure(lambda seconds: self._look(operator, seconds, *beside),
                          TOLERANCE), TOLERANCE)

    def how_to_reach(self) -> list[str]:
        """See base class."""
        return [f'eval "$({self.rundir.command("env")} demo)"']

    def down(self) -> list[str]:
        """See base class."""
        return self._cloud.down()
