# SPDX-License-Identifier: Apache-2.0
"""The databases of a Nova with two cells on one engine, and its commands."""

import json
import pathlib
import subprocess
import sys
from typing import Any
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import pool

from nova_rt.tests.e2e.db import servers

CELLS = ('rt_cell0', 'rt_cell1', 'rt_cell2')
API = 'rt_api'


class Done(NamedTuple):
    """A command that has ended."""

    status: int
    rows: list[dict[str, Any]]
    said: str


class Deployment:
    """A cell0 and two cells, and a nova.conf that names them.

    :param engine: where the databases are
    """

    def __init__(self, engine: servers.Engine) -> None:
        self.engine = engine
        self.conf = engine.directory / 'nova.conf'
        self.configure(engine.url(API), engine.url(CELLS[1]))

    def configure(self, api: str, cell: str) -> None:
        """Write nova.conf with the addresses of two databases."""
        self.conf.write_text(
            '[DEFAULT]\ntransport_url = fake:/\n'
            f'[api_database]\nconnection = {api.replace("%", "%%")}\n'
            f'[database]\nconnection = {cell.replace("%", "%%")}\n')

    def create(self) -> None:
        """Make the databases, map the cells, and create Nova's schema."""
        for name in (API, *CELLS):
            self.engine.create(name)
        subprocess.run(
            [sys.executable, '-m', 'nova_rt.tests.e2e.db.schema', self.conf,
             *(self.engine.url(name) for name in CELLS)],
            check=True, stdout=subprocess.DEVNULL)

    def nova(self, *command: str) -> str:
        """Run nova-manage; return what it printed."""
        done = self._run('nova-manage', *command)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return done.stdout + done.stderr

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start nova-rt-manage; its answer is JSON."""
        return subprocess.Popen(
            self._command('nova-rt-manage', *command, '-f', 'json'), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def rt(self, *command: str) -> Done:
        """Run nova-rt-manage to its end."""
        return ended(self.start(*command))

    def connect(self, name: str = CELLS[1]) -> sa.Connection:
        """Connect to a database, in autocommit mode."""
        return sa.create_engine(
            self.engine.url(name), poolclass=pool.NullPool,
            isolation_level='AUTOCOMMIT').connect()

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*command), capture_output=True, text=True)

    def _command(self, program: str, *arguments: str) -> list[str]:
        path = pathlib.Path(sys.prefix) / 'bin' / program
        return [str(path), '--config-file', str(self.conf), *arguments]


def ended(process: subprocess.Popen[str]) -> Done:
    """Wait for nova-rt-manage and return what it answered."""
    out, said = process.communicate()
    assert 'Traceback' not in said
    return Done(process.returncode, json.loads(out or '[]'), said)
