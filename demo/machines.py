# SPDX-License-Identifier: Apache-2.0
"""The demo with virtual machines: a real stack, and the machine's own kernel."""

from pathlib import Path
import tempfile
from typing import Any

from demo import picture
from demo import story
from demo.frame import Demo
from demo.outside import Hog
from demo.shell import Client
from demo.shell import DemoError
from demo.shell import progress
from demo.shell import say
from demo.shell import step
from stack import admission
from stack import hypervisor
from stack import machines
from stack import vcpus
from stack.cloud import Cloud
from stack.image import build
from stack.rundir import RunDir
from stack.service import Site

CAP = 0.95
# 60%, where 35% are left.
TOO_MUCH_US = 120_000
# 20%: the client, too, needs what the virtual machines leave.
CHANGED_US = 40_000
WINDOW = 10.0  # seconds; whole periods of the reservations
TOLERANCE = 0.01  # one percentage point


class MachineDemo(Demo):
    """One run; see base class."""

    last_step = 10

    def __init__(self, rundir: Path, keep: bool) -> None:
        super().__init__(RunDir(rundir), keep)
        self._cloud = Cloud(
            Site(self.rundir, virt_type=_virt_type()), report=progress)

    def introduce(self) -> None:
        """See base class."""
        virt_type = self._cloud.site.virt_type
        say(f'mode: vm, dialect: deadline, virt_type: {virt_type}')
        say('Each vCPU is a thread under SCHED_DEADLINE on this machine\'s own kernel: it '
            'gets its runtime\nin every period, whatever SCHED_FIFO, SCHED_RR and normal '
            'tasks run on its pCPU.')
        if virt_type == 'qemu':
            say('No guest of KVM says a word here within seconds: QEMU emulates the guests.')
        before = admission.SYSCTL.read_text().strip()
        say(f'kernel.sched_rt_runtime_us is {before}. The demo sets it to -1, so that the '
            f'kernel admits\npinned threads, and back to {before} at its end, also if it is '
            'interrupted or killed.')

    def up(self) -> None:
        """See base class."""
        with step(1, 'A real OpenStack on loopback'):
            self._cloud.up()

    def story(self) -> None:
        """See base class."""
        operator = Client(self._cloud.environment('admin'), 'operator')
        user = Client(self._cloud.environment('demo'), 'user')
        story.flavor(operator, 2)
        # While the others run, there is less for the client.
        story.bad_hints(user, 3, build.MACHINE)
        story.servers(user, 4, (build.MACHINE, build.MACHINE))
        with step(6, 'What the virtual machines get'):
            self._shares(operator, user)
        self._change(operator, user)
        story.no_room(user, 8, TOO_MUCH_US, build.MACHINE)
        if not self.keep:
            story.delete(user, 9)
            self.nothing_left([str(path) for path in Path('/sys/fs/cgroup').glob(
                '*/machine/qemu-*')])

    def _shares(self, operator: Client, user: Client) -> None:
        running = [self._machine(operator, user, name) for name in ('web', 'db')]
        say('Reserved, as the kernel has it:')
        say(picture.host(running, CAP))
        say(f'\nEvery vCPU burns CPU ({WINDOW:.0f} s):')
        self._must_hold(running)
        cpu = max(running[0].shares)
        say(f'\nThe same with a SCHED_FIFO hog of priority 50 outside, on pCPU {cpu}:')
        with Hog(self._cloud, 'fifo', '50', cpu, WINDOW + 3):
            self._must_hold(running)
        say('  The hog gets only what the reservations leave.')

    def _change(self, operator: Client, user: Client) -> None:
        with step(7, 'Another reservation while it runs: 20% for web'):
            before = self._machine(operator, user, 'web')
            config = self.rundir.etc / 'nova' / 'nova.conf'
            operator.run(f'nova-rt-manage --config-file {config} reservation set '
                         f'{user.server("web").id} --runtime-us {CHANGED_US}')
            after = self._machine(operator, user, 'web')
            if after.threads != before.threads:
                raise DemoError('The virtual machine of web was restarted.')
            if set(after.shares.values()) != {CHANGED_US / story.PERIOD_US}:
                raise DemoError(f'The kernel has {after.shares} for web.')
            self._must_hold([after, self._machine(operator, user, 'db')])

    def _machine(self, operator: Client, user: Client, name: str) -> vcpus.Machine:
        shown: Any = operator.cloud.compute.get_server(user.server(name).id)
        try:
            return machines.machine(self._cloud.site, name, shown.instance_name)
        except FileNotFoundError:
            raise DemoError(f'No virtual machine of server {name} runs.') from None

    def _must_hold(self, running: list[vcpus.Machine]) -> None:
        measured = vcpus.measure(running, WINDOW)
        say(picture.comparison(running, measured))
        distance = picture.farthest(running, measured)
        if distance > TOLERANCE:
            raise DemoError(
                f'A measured share is {distance * 100:.2f} points from the '
                'reserved one; it should be within one point.')

    def how_to_reach(self) -> list[str]:
        """See base class; from here on, the setting outlives this program."""
        (self.rundir.data / admission.KEPT).touch()
        return [f'eval "$({self.rundir.command("env")} demo)"']

    def down(self) -> list[str]:
        """See base class."""
        return self._cloud.down()


def _virt_type() -> str:
    with tempfile.TemporaryDirectory() as directory:
        return hypervisor.virt_type(build.build_machine(Path(directory), build.run_command))
