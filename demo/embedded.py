# SPDX-License-Identifier: Apache-2.0
"""The demo without root and RT groups, on a simulated host."""

from collections.abc import Sequence
import json
from pathlib import Path
import sys
import urllib.request

from demo import picture
from demo import story
from demo.frame import Demo
from demo.shell import Client
from demo.shell import say
from demo.shell import step
from stack.interruption import uninterrupted
from stack.kernel import Container
from stack.rundir import RunDir
from stack.service import answers
from stack.service import Service
from stack.service import Site

CAP = 0.95
# A whole pCPU: on a host with four of them, only this does not fit.
TOO_MUCH_US = 190_000


class SimulatedCloud(Service):
    """The process of the simulated cloud."""

    name = 'simulated-cloud'

    def command(self) -> Sequence[str]:
        """Return its command line."""
        return (sys.executable, '-m', 'demo.simulated',
                str(self.site.port('keystone')))

    def ready(self) -> bool:
        """Whether it answers."""
        return answers(self.site.url('keystone', '/simulated'))


class EmbeddedDemo(Demo):
    """One run; see base class.

    :param reason: why the real mode cannot run, '' if it was not requested.
    """

    def __init__(self, rundir: Path, keep: bool, reason: str) -> None:
        super().__init__(RunDir(rundir), keep)
        self._reason = reason
        self._site = Site(self.rundir)

    def introduce(self) -> None:
        """See base class."""
        say('mode: embedded, dialect: simulated hcbs-multi')
        say('One process with a simulated host of 4 pCPUs: what follows shows '
            'decisions and answers,\nno container runs and nothing is '
            'enforced.')
        if self._reason:
            say(f'Real servers are not possible here: {self._reason}')

    def up(self) -> None:
        """See base class."""
        with step(1, 'A Nova in one process'):
            self.rundir.create(simulated=True)
            try:
                SimulatedCloud(self._site).start()
            except BaseException:
                self.down()
                raise

    def story(self) -> None:
        """See base class."""
        operator = Client(self._environment('admin'), 'operator')
        user = Client(self._environment('demo'), 'user')
        story.flavor(operator, 2)
        story.servers(user, 3, ('busybox', 'busybox'))
        with step(5, 'What the simulated kernel holds'):
            say(picture.host(self._containers(user), CAP))
        story.bad_hints(user, 6)
        story.no_room(user, 7, TOO_MUCH_US)
        if not self.keep:
            story.delete(user, 8)
            self.nothing_left(list(self._held()))

    def _held(self) -> dict[str, dict[str, float]]:
        """Return by server's id what the simulated kernel holds, by pCPU."""
        url = self._site.url('keystone', '/simulated')
        with urllib.request.urlopen(url, timeout=10) as answer:
            return dict(json.load(answer))

    def _containers(self, user: Client) -> list[Container]:
        held = self._held()
        servers = {user.server(name).id: name for name in ('web', 'db')}
        return [
            Container(name, uuid, {
                int(cpu): share for cpu, share in held[uuid].items()})
            for uuid, name in servers.items()]

    def _environment(self, user: str) -> dict[str, str]:
        return {
            'OS_AUTH_URL': self._site.url('keystone', '/identity/v3'),
            'OS_USERNAME': user, 'OS_PASSWORD': 'none',
            'OS_PROJECT_NAME': user, 'OS_USER_DOMAIN_NAME': 'Default',
            'OS_PROJECT_DOMAIN_NAME': 'Default',
            'OS_REGION_NAME': 'RegionOne', 'OS_IDENTITY_API_VERSION': '3',
            'OS_COMPUTE_API_VERSION': '2.100',
        }

    def how_to_reach(self) -> list[str]:
        """See base class."""
        return [f'export {key}={value}'
                for key, value in self._environment('demo').items()]

    def down(self) -> list[str]:
        """See base class."""
        with uninterrupted():
            self._site.processes.stop([SimulatedCloud.name])
            self._site.processes.stop_marked()
            self.rundir.discard()
        return []
