# SPDX-License-Identifier: Apache-2.0
"""The run directory: all files of one stack, and what later calls need."""

from contextlib import ExitStack
from contextlib import suppress
import json
import os
from pathlib import Path
import random
import secrets
import shutil
import socket
import sys
from typing import Any

from stack.errors import StackError

# MariaDB's socket must fit into the 107 bytes of a Unix address.
LONGEST_PATH = 80

PORTS = (
    'mariadb', 'epmd', 'rabbitmq', 'rabbitmq-cluster', 'keystone',
    'placement', 'glance', 'neutron', 'openflow', 'nova-api', 'heat-api',
    'tacker-server', 'aodh-api', 'blazar-api', 'watcher-api', 'horizon', 'prometheus',
    'node-1-ssh', 'node-2-ssh', 'nodes-lan',
)
PORT_RANGE = range(20_000, 32_768)


class RunDir:
    """Paths below one directory, and the ports and password chosen for it.

    :param path: the directory; it need not exist yet.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()
        self.logs = self.path / 'log'
        self.etc = self.path / 'etc'
        self.data = self.path / 'data'
        self.processes = self.path / 'processes'
        self._site = self.path / 'site.json'

    @property
    def in_use(self) -> bool:
        """Whether a stack was started here and not yet given back."""
        return self._site.exists()

    def command(self, what: str) -> str:
        """Return the command line for a command of this stack."""
        return (f'{os.path.relpath(sys.executable)} -m stack --run-dir '
                f'{os.path.relpath(self.path)} {what}')

    def create(self, **remembered: object) -> None:
        """Make the directories and choose free ports and a password.

        :param remembered: further values for site() to return.
        :raises StackError: if a stack is already here, or the path is too
            long for a Unix socket.
        """
        if self.in_use:
            raise StackError(
                f'A stack was already started in {self.path}: run '
                f'"{self.command("down")}" first.')
        if len(str(self.path)) > LONGEST_PATH:
            raise StackError(
                f'The run directory {self.path} has a path of more than '
                f'{LONGEST_PATH} characters, too long for a Unix socket: '
                'choose a shorter one with --run-dir.')
        shutil.rmtree(self.logs, ignore_errors=True)
        for directory in (self.logs, self.etc, self.data, self.processes):
            directory.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o755)
        self.etc.chmod(0o700)
        self.write_json(self._site, {
            'ports': _free_ports(PORTS),
            'password': secrets.token_hex(16),
            **remembered,
        })

    def site(self) -> dict[str, Any]:
        """Return the ports by name, the password, and the values given to create().

        :raises StackError: if no stack was started here.
        """
        try:
            return dict(json.loads(self._site.read_text()))
        except FileNotFoundError:
            raise StackError(
                f'No stack was started in {self.path}: run '
                f'"{self.command("up")}" first.'
            ) from None

    def write_json(self, path: Path, value: Any) -> None:
        """Write ``value`` atomically: a reader sees all of it or nothing."""
        scratch = path.with_suffix('.new')
        scratch.touch(mode=0o600)
        scratch.write_text(json.dumps(value, indent=1))
        scratch.rename(path)

    def discard(self) -> None:
        """Remove everything but the logs."""
        for directory in (self.etc, self.data, self.processes):
            shutil.rmtree(directory, ignore_errors=True)
        self._site.unlink(missing_ok=True)


def _free_ports(names: tuple[str, ...]) -> dict[str, int]:
    """Choose one free loopback port for each name, all held at once.

    They are below the range that the kernel gives to clients: a client could
    otherwise take the port of a service during its restart.
    """
    candidates = iter(random.sample(PORT_RANGE, len(PORT_RANGE)))
    with ExitStack() as held:
        ports = {}
        for name in names:
            for port in candidates:
                holder = held.enter_context(socket.socket())
                with suppress(OSError):
                    holder.bind(('127.0.0.1', port))
                    ports[name] = port
                    break
        return ports
