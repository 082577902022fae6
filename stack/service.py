# SPDX-License-Identifier: Apache-2.0
"""What all parts of the stack have in common."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
import shlex
import socket
import sys
import time
import urllib.error
import urllib.request

from stack import ini
from stack.errors import StackError
from stack.processes import Processes
from stack.rundir import RunDir


@dataclass
class Site:
    """What the services of one stack share.

    :ivar compute: the command that runs as compute service.
    :ivar nova_rt: whether nova-rt's parts are put into Nova's configuration.
    :ivar nova_conf: options that win over ours in nova.conf.
    :ivar more: additions to the stack, by their names in services.MORE.
    :ivar virt_type: Nova's option for this machine: lxc, qemu or kvm.
    :ivar hosts: how many hosts of virtual machines this machine is: 1 or 2.
    :ivar nova: the Python environment whose Nova runs.
    :ivar nodes: how many compute nodes run in virtual machines; without any,
        the machine itself is the compute node.
    """

    rundir: RunDir
    compute: str = 'nova-rt-compute'
    nova_rt: bool = True
    nova_conf: ini.Sections = field(default_factory=dict)
    more: Sequence[str] = ()
    nodes: int = 0
    virt_type: str = 'lxc'
    hosts: int = 1
    nova: Path = Path(sys.prefix)

    def __post_init__(self) -> None:
        self.processes = Processes(self.rundir)

    @classmethod
    def of(cls, rundir: RunDir) -> 'Site':
        """Return the site of a stack that was started by another call.

        :raises StackError: if there is none.
        """
        started = rundir.site()
        return cls(rundir, started.get('compute', ''),
                   started.get('nova_rt', True),
                   more=started.get('more', ()),
                   nodes=started.get('nodes', 0),
                   virt_type=started.get('virt_type', 'lxc'),
                   hosts=started.get('hosts', 1))

    @property
    def runs_machines(self) -> bool:
        """Whether this machine's servers are virtual machines."""
        return self.virt_type != 'lxc'

    @property
    def numbers(self) -> range:
        """The numbers of this machine's hosts."""
        return range(1, self.hosts + 1)

    @property
    def has_network(self) -> bool:
        """Whether Neutron is real."""
        return 'network' in self.more

    @property
    def password(self) -> str:
        """The password of this stack, generated at its start."""
        return str(self.rundir.site()['password'])

    def port(self, name: str) -> int:
        """Return the loopback port chosen for ``name``."""
        return int(self.rundir.site()['ports'][name])

    def url(self, name: str, path: str = '') -> str:
        """Return the URL of an HTTP service."""
        return f'http://127.0.0.1:{self.port(name)}{path}'

    def database(self, name: str) -> str:
        """Return SQLAlchemy's URL of a database."""
        return (f'mysql+pymysql://openstack:{self.password}@127.0.0.1:'
                f'{self.port("mariadb")}/{name}?charset=utf8')

    @property
    def broker(self) -> str:
        """oslo.messaging's URL of RabbitMQ."""
        return (f'rabbit://openstack:{self.password}@127.0.0.1:'
                f'{self.port("rabbitmq")}//')

    def script(self, name: str) -> str:
        """Return the path of a command of this Python environment."""
        return str(Path(sys.prefix) / 'bin' / name)

    def nova_script(self, name: str) -> str:
        """Return the path of a command of the Python environment whose Nova runs."""
        return str(self.nova / 'bin' / name)


class Service:
    """One part of the stack: prepared, started, waited for, stopped.

    ``prepare`` runs once the services in ``needs_to_prepare`` are ready,
    ``start`` once it is done and those in ``needs`` are ready.
    """

    name = ''
    needs_to_prepare: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    patience = 180.0  # seconds that the service may take to become ready
    pause = 0.1  # seconds between two checks

    def __init__(self, site: Site) -> None:
        self.site = site

    def prepare(self) -> None:
        """Write configuration, create schemas."""

    def command(self) -> Sequence[str]:
        """Return the command to start, empty for a part without process."""
        return ()

    def environment(self) -> Mapping[str, str]:
        """Return the command's variables beyond the caller's."""
        return {}

    def ready(self) -> bool:
        """Whether the service works."""
        return True

    def finish(self) -> None:
        """Do the remaining work once the service is ready."""

    def start(self) -> None:
        """Start the process and wait until it is ready.

        :raises StackError: if it ends or is not ready in time.
        """
        command = self.command()
        if command:
            self.site.processes.start(
                self.name, command, self.environment())
            self.wait(self.ready)
        self.finish()

    def wait(self, condition: Callable[[], bool], patience: float | None = None) -> None:
        """Wait until ``condition`` holds or the process has ended.

        :param patience: seconds, those of the service by default.
        :raises StackError: see start().
        """
        processes = self.site.processes
        patience = patience or self.patience
        deadline = time.monotonic() + patience
        while not condition():
            if not processes.alive(self.name):
                raise StackError(processes.failure(
                    self.name, 'ended while it was starting'))
            if time.monotonic() > deadline:
                raise StackError(processes.failure(
                    self.name, f'was not ready after {patience:.0f} s'))
            time.sleep(self.pause)


def listens(port: int) -> bool:
    """Whether something accepts connections on this loopback port."""
    with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port), timeout=1):
        return True
    return False


def answers(url: str) -> bool:
    """Whether a GET of this URL has a status below 500."""
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except urllib.error.HTTPError as exc:
        return exc.code < 500
    except OSError:
        return False


class WsgiService(Service):
    """An OpenStack API served by uWSGI.

    ``application`` is its WSGI entry point, ``path`` one that needs no token,
    ``options`` uWSGI's beyond those that all have.
    """

    application = ''
    path = '/'
    processes = 1
    threads = 8
    options: tuple[str, ...] = ()

    def command(self) -> Sequence[str]:
        """Return uWSGI's command line; few processes, a few threads."""
        return (
            'uwsgi-core', '--plugin', 'python3', '--need-app', '--master',
            '--die-on-term', '--enable-threads', '--lazy-apps',
            '--http-socket', f'127.0.0.1:{self.site.port(self.name)}',
            '--module', f'{self.application}:application',
            '--pyargv', shlex.join(self.arguments()),
            '--virtualenv', str(self.prefix), '--processes', str(self.processes),
            '--threads', str(self.threads), '--buffer-size', '65535',
            # It closes each connection, and clients should know.
            '--add-header', 'Connection: close',
            '--disable-logging', '--worker-reload-mercy', '2', *self.options,
        )

    @property
    def prefix(self) -> Path:
        """The Python environment that the application is in."""
        return Path(sys.prefix)

    def arguments(self) -> Sequence[str]:
        """Return the application's command line."""
        return ()

    def ready(self) -> bool:
        """Whether the application answers."""
        return answers(self.site.url(self.name, self.path))
