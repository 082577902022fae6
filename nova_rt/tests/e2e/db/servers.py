# SPDX-License-Identifier: Apache-2.0
"""Real database servers with private data, on loopback, and SQLite."""

from collections.abc import Sequence
import os
import pathlib
import pwd
import shutil
import signal
import tempfile

import psutil
import sqlalchemy as sa

from nova_rt.tests.e2e import ports
from stack import processes
from stack import rundir
from stack import service
from stack.services import mariadb

# It refuses to run as root; Debian's package brings this user.
POSTGRES_USER = 'postgres'


class PostgreSQL(service.Service):
    """Debian's PostgreSQL; nothing survives the tests."""

    name = 'postgresql'

    def prepare(self) -> None:
        """Create the data directory."""
        self.data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.data, POSTGRES_USER, POSTGRES_USER)
        self.site.processes.run('initdb', (
            *self._as_user(), program('initdb'), '--auth=trust',
            '--username=nova', '--encoding=UTF8', '--locale=C', '--no-sync',
            f'--pgdata={self.data}'))

    def command(self) -> Sequence[str]:
        """Return the command line of the server."""
        return (
            *self._as_user(), program('postgres'), '-D', str(self.data),
            '-p', str(self.port), '-c', 'listen_addresses=127.0.0.1',
            '-c', f'unix_socket_directories={self.data}', '-c', 'fsync=off')

    def ready(self) -> bool:
        """Whether it accepts connections."""
        try:
            sa.create_engine(self.url('postgres')).connect().close()
        except sa.exc.OperationalError:
            return False
        return True

    @property
    def data(self) -> pathlib.Path:
        """Where it keeps everything."""
        return self.site.rundir.data / 'postgresql'

    @property
    def port(self) -> int:
        """The loopback port chosen for it."""
        return int(self.site.rundir.site()['postgresql'])

    def url(self, name: str) -> str:
        """Return SQLAlchemy's address of a database."""
        return f'postgresql+psycopg2://nova@127.0.0.1:{self.port}/{name}'

    def _as_user(self) -> Sequence[str]:
        if os.geteuid():
            return ()
        return ('setpriv', f'--reuid={POSTGRES_USER}',
                f'--regid={POSTGRES_USER}', '--clear-groups')


class Engine:
    """A place for databases; one of the subclasses.

    :param directory: where it keeps everything
    """

    name = ''
    lacking = ''

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory

    @classmethod
    def why_not(cls) -> str | None:
        """Return why this machine cannot run it, None if it can."""
        return None

    def url(self, name: str) -> str:
        """Return SQLAlchemy's address of a database."""
        return f'sqlite:///{self.directory}/{name}.db'

    def create(self, name: str) -> None:
        """Make an empty database, in place of one of that name."""
        (self.directory / f'{name}.db').unlink(missing_ok=True)

    def stop(self) -> None:
        """Give everything back."""


class SQLite(Engine):
    """A file; see base class."""

    name = 'sqlite'


class _Server(Engine):
    """A server process of its own."""

    kind: type[service.Service]
    administration = ''

    def __init__(self, directory: pathlib.Path) -> None:
        super().__init__(directory)
        # Not below pytest's directories, which are for one user only.
        self.rundir = rundir.RunDir(tempfile.mkdtemp(prefix='nova-rt-'))
        self.rundir.create(postgresql=ports.free())
        self.service = self.kind(service.Site(self.rundir))
        self.service.prepare()
        self.service.start()

    def create(self, name: str) -> None:
        """See base class."""
        engine = sa.create_engine(self.url(self.administration),
                                  isolation_level='AUTOCOMMIT')
        with engine.connect() as connection:
            connection.exec_driver_sql(f'DROP DATABASE IF EXISTS {name}')
            connection.exec_driver_sql(f'CREATE DATABASE {name}')
        engine.dispose()

    def administer(self, *statements: str) -> None:
        """Execute statements as who may do everything."""
        engine = sa.create_engine(self.url(self.administration),
                                  isolation_level='AUTOCOMMIT')
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def kill(self) -> None:
        """End the server as a power cut would, with what it started."""
        leader = self.service.site.processes.leader(self.service.name)
        # PostgreSQL's processes would finish what they do, each a session.
        for pid in [leader, *_children(leader)]:
            processes.send(pid, signal.SIGKILL)
        self.service.site.processes.stop([self.service.name])

    def start(self) -> None:
        """Start it again over what it left."""
        self.service.start()

    def stop(self) -> None:
        """See base class."""
        self.kill()
        shutil.rmtree(self.rundir.path)


class _MariaDB(mariadb.MariaDB):

    def finish(self) -> None:
        """Users and databases are made only once."""
        marker = self.site.rundir.data / 'finished'
        if not marker.exists():
            super().finish()
            marker.touch()


class MariaDBServer(_Server):
    """MariaDB as the stack starts it."""

    def administer(self, *statements: str) -> None:
        """See base class."""
        with self.service._connect() as connection:
            for statement in statements:
                connection.cursor().execute(statement)

    name = 'mariadb'
    kind = _MariaDB
    administration = 'nova'

    @classmethod
    def why_not(cls) -> str | None:
        """See base class."""
        if not pathlib.Path(mariadb.SERVER).exists():
            return 'mariadb-server-core is not installed'
        return None

    def url(self, name: str) -> str:
        """See base class."""
        return self.service.site.database(name)


class PostgreSQLServer(_Server):
    """PostgreSQL as Debian packages it."""

    name = 'postgresql'
    kind = PostgreSQL
    administration = 'postgres'

    @classmethod
    def why_not(cls) -> str | None:
        """See base class."""
        if not _programs():
            return 'postgresql is not installed'
        if os.geteuid() == 0 and not _known(POSTGRES_USER):
            return f'there is no user {POSTGRES_USER}'
        return None

    def url(self, name: str) -> str:
        """See base class."""
        return self.service.url(name)


ENGINES = (MariaDBServer, PostgreSQLServer, SQLite)


def program(name: str) -> str:
    """Return the path of a program of the newest PostgreSQL installed."""
    return str(_programs()[-1] / name)


def _programs() -> list[pathlib.Path]:
    return sorted(pathlib.Path('/usr/lib/postgresql').glob('*/bin'))


def _children(parent: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(parent).children()]
    except psutil.NoSuchProcess:
        return []


def _known(user: str) -> bool:
    return any(user == each.pw_name for each in pwd.getpwall())
