# SPDX-License-Identifier: Apache-2.0
"""Show and run commands of the openstack client, and print how long steps take."""

from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
import os
from pathlib import Path
import shlex
import subprocess
import sys
import textwrap
import time
from typing import Any

import openstack

WIDTH = 92  # columns
BOLD, DIM, PLAIN = '\033[1m', '\033[2m', '\033[0m'


class DemoError(Exception):
    """A sentence that says what was not as the demo shows it."""


def say(text: str = '') -> None:
    """Print a line and flush, for pipes."""
    print(text, flush=True)


def paint(style: str, text: str) -> str:
    """Return the text in a style, plain if the output is not a terminal."""
    return f'{style}{text}{PLAIN}' if sys.stdout.isatty() else text


@contextmanager
def step(number: int, title: str) -> Iterator[None]:
    """Print the title of a step, and at its end how long it took."""
    say()
    say(paint(BOLD, f'== {number}. {title}'))
    started = time.monotonic()
    yield
    say(paint(DIM, f'   ({time.monotonic() - started:.1f} s)'))


def progress(name: str, seconds: float) -> None:
    """Print how long a part of the stack took, if it was long."""
    if seconds >= 0.5:
        say(f'   {name:28} {seconds:5.1f} s')


class Client:
    """The real openstack client, as a person would use it.

    :param environment: its variables (OS_AUTH_URL and so on).
    :param who: shown before the command.
    """

    def __init__(self, environment: Mapping[str, str], who: str) -> None:
        self._who = who
        self._environment = {
            **{key: value for key, value in os.environ.items()
               if not key.startswith('OS_')},
            **environment, 'PYTHONWARNINGS': 'ignore'}
        # Waiting and looking up are done in this process: the client takes
        # seconds to start.
        options: dict[str, Any] = {
            key.removeprefix('OS_').lower(): value
            for key, value in environment.items()
            # The SDK negotiates the microversion for each call.
            if key != 'OS_COMPUTE_API_VERSION'}
        self.cloud = openstack.connect(
            load_yaml_config=False, load_envvars=False, **options)

    def run(self, command: str, fails: bool = False) -> str:
        """Show and run one command.

        :param command: as typed in a shell.
        :param fails: whether it must fail.
        :returns: its output, with the errors if it failed.
        :raises DemoError: if it fails but must not, or must fail but does not.
        """
        say(f'{self._who}$ ' + paint(BOLD, command))
        done = subprocess.run(
            _with_path(command), env=self._environment, capture_output=True,
            text=True)
        said = (done.stdout + done.stderr).strip()
        for line in said.splitlines():
            say('\n'.join(textwrap.wrap(
                line, WIDTH, initial_indent='  ', subsequent_indent='  ',
                drop_whitespace=False) or ['']))
        if (done.returncode != 0) != fails:
            problem = 'should have been refused' if fails else 'failed'
            raise DemoError(f'"{command}" {problem}: {said or "no output"}')
        return said if fails else done.stdout.strip()

    def server(self, name: str) -> openstack.compute.v2.server.Server:
        """Return a server as the API shows it."""
        return self.cloud.compute.find_server(
            name, ignore_missing=False, details=True)

    def wait(self, name: str, status: str, patience: float = 120) -> None:
        """Wait until a server has a status.

        :raises DemoError: if the server fails or takes too long.
        """
        deadline = time.monotonic() + patience
        while True:
            server = self.server(name)
            if server.status == status:
                return
            if time.monotonic() > deadline or server.status == 'ERROR':
                fault = server.fault or {}
                raise DemoError(
                    f'Server {name} is {server.status}, not {status}: '
                    f'{fault.get("message", "no reason given")}')
            time.sleep(0.2)


def client() -> str:
    """Return the path of this environment's client, for a command line."""
    return os.path.relpath(Path(sys.prefix) / 'bin' / 'openstack')


def _with_path(command: str) -> list[str]:
    program, *arguments = shlex.split(command)
    return [str(Path(sys.prefix) / 'bin' / program), *arguments]
