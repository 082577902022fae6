# SPDX-License-Identifier: Apache-2.0
"""MariaDB with a data directory of its own."""

from collections.abc import Sequence
from pathlib import Path
import shlex

import pymysql

from stack.errors import StackError
from stack.service import Service
from stack.service import Site

SHARE = Path('/usr/share')
SERVER = '/usr/sbin/mariadbd'
BEGIN = (
    'CREATE DATABASE mysql;', 'USE mysql;', 'SET @auth_root_socket=NULL;',
)
# Folder and prefix of their names: of MariaDB 11 and newer, and of older releases.
SCRIPTS = (('mariadb', 'mariadb'), ('mysql', 'mysql'))
SYSTEM_TABLES = ('system_tables', 'performance_tables', 'system_tables_data')
DATABASES = (
    'keystone', 'placement', 'glance', 'nova_api', 'nova', 'nova_cell0',
)


def system_tables(share: Path) -> list[str]:
    """Return the paths of the scripts that create MariaDB's own tables, in their order.

    :param share: where MariaDB's folder is: /usr/share.
    :raises StackError: if they are not there.
    """
    for folder, prefix in SCRIPTS:
        paths = [share / folder / f'{prefix}_{name}.sql' for name in SYSTEM_TABLES]
        if all(path.exists() for path in paths):
            return [str(path) for path in paths]
    raise StackError(
        f'MariaDB has no scripts below {share} that create its tables: install '
        'mariadb-server-core again.')


def create(site: Site, name: str) -> None:
    """Create a further database, for an optional part."""
    with pymysql.connect(
            host='127.0.0.1', port=site.port('mariadb'), user='openstack',
            password=site.password) as connection:
        connection.cursor().execute(f'CREATE DATABASE {name}')


class MariaDB(Service):
    """Debian's mariadbd on a loopback port; nothing survives the stack."""

    name = 'mariadb'

    def prepare(self) -> None:
        """Create the data directory, as mariadb-install-db does.

        That script needs a program of the package mariadb-server, which
        would also install a service of the whole machine.
        """
        self._data.mkdir()
        self._temporary.mkdir()
        server = shlex.join((
            SERVER, '--no-defaults', '--bootstrap', '--user=root',
            f'--datadir={self._data}', f'--tmpdir={self._temporary}',
            '--enforce-storage-engine=',
            '--max-allowed-packet=8M', '--net-buffer-length=16K',
            '--innodb-flush-method=nosync', '--innodb-doublewrite=0'))
        # The server reads one statement a line here.
        begin = shlex.join(('printf', '%s\\n', *BEGIN))
        tables = shlex.join(('cat', *system_tables(SHARE)))
        self.site.processes.run('mariadb-tables', (
            'sh', '-c', f'{{ {begin}; {tables}; }} | {server}'))

    def command(self) -> Sequence[str]:
        """Return mariadbd's command line, tuned to start and stop fast."""
        return (
            SERVER, '--no-defaults', '--user=root',
            f'--datadir={self._data}', f'--tmpdir={self._temporary}',
            '--bind-address=127.0.0.1',
            f'--port={self.site.port("mariadb")}',
            f'--socket={self._socket}', '--skip-name-resolve',
            f'--pid-file={self._data}/mariadb.pid', '--max-connections=500',
            # The data survive the process, and need not survive a power cut.
            '--innodb-flush-log-at-trx-commit=2', '--innodb-doublewrite=0',
            '--innodb-flush-method=nosync', '--innodb-fast-shutdown=2',
            '--innodb-buffer-pool-size=64M', '--skip-log-bin',
            '--performance-schema=OFF', '--character-set-server=utf8mb3',
        )

    def ready(self) -> bool:
        """Whether it accepts connections."""
        try:
            self._connect().close()
        except pymysql.err.OperationalError:
            return False
        return True

    def finish(self) -> None:
        """Set the password and create the databases, unless it was there."""
        with self._connect() as connection:
            cursor = connection.cursor()
            for name in DATABASES:
                cursor.execute(f'CREATE DATABASE IF NOT EXISTS {name}')
            cursor.execute(
                "CREATE USER IF NOT EXISTS openstack@'127.0.0.1' IDENTIFIED BY %s",
                (self.site.password,))
            cursor.execute("GRANT ALL ON *.* TO openstack@'127.0.0.1'")
            # Root stays for the socket, which only root can reach.
            cursor.execute("DROP USER IF EXISTS root@'127.0.0.1', root@'::1'")

    @property
    def _data(self) -> Path:
        return self.site.rundir.data / 'mariadb'

    @property
    def _temporary(self) -> Path:
        # A server that starts removes all temporary tables that it finds, whose ever.
        return self.site.rundir.data / 'mariadb-tmp'

    @property
    def _socket(self) -> str:
        return str(self.site.rundir.data / 'mariadb.sock')

    def _connect(self) -> 'pymysql.Connection':
        return pymysql.connect(
            unix_socket=self._socket, user='root', connect_timeout=5)
