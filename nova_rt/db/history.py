# SPDX-License-Identifier: Apache-2.0
"""Our Alembic history on one database: up, down, and where it stands.

Every statement stands alone (autocommit): MariaDB has no transactions over
changes of a schema, and on the others two tables would stay locked until both
are done. So each step looks first at what is there, and whatever an
interruption leaves is completed, or taken back, by running again.

The revision is kept in a view of one row. Nova's archive_deleted_rows stumbles
over every table in a cell's database that is not its own, and its purge empties
those that it takes for shadow tables; views it does not see. Alembic, which
writes to a table, is given a temporary one.
"""

from collections.abc import Callable
import contextlib
import pathlib

from alembic import command
from alembic import config
from alembic import script
import sqlalchemy as sa

from nova_rt.db import problems

VERSION_VIEW = 'nova_rt_alembic_version'
# Of one connection, while Alembic is at work.
VERSION_TABLE = 'nova_rt_alembic_at_work'

_MIGRATIONS = pathlib.Path(__file__).parent / 'migrations'

# How each engine is told how long to wait for a table that is in use.
_PATIENCE = {
    'mysql': 'SET SESSION lock_wait_timeout = {seconds}',
    'mariadb': 'SET SESSION lock_wait_timeout = {seconds}',
    'postgresql': "SET lock_timeout = '{seconds}s'",
    'sqlite': 'PRAGMA busy_timeout = {seconds}000',
}


def head() -> str:
    """Return the newest revision."""
    newest = script.ScriptDirectory(str(_MIGRATIONS)).get_current_head()
    assert newest is not None  # noqa: S101
    return newest


def revision(connection: sa.Connection) -> str | None:
    """Return the revision that a database is at, None without ours."""
    if VERSION_VIEW not in sa.inspect(connection).get_view_names():
        return None
    found = connection.exec_driver_sql(
        f'SELECT version_num FROM {VERSION_VIEW}').scalar()  # noqa: S608
    return str(found)


def upgrade(connection: sa.Connection, patience_s: int) -> None:
    """Bring a database to the newest revision; at it already, do nothing.

    :param connection: in autocommit mode
    :param patience_s: how long to wait for a table that is in use, in s
    :raises UnusableDatabaseError: if Nova's tables are not there, or hold columns of our
        names that are not ours
    """
    _run(connection, patience_s, command.upgrade, 'head', None)


def downgrade(connection: sa.Connection, patience_s: int) -> None:
    """Take everything of ours out of a database; without any, do nothing.

    See :func:`upgrade` for parameters.
    """
    # An upgrade that was interrupted has left columns, but no revision.
    _run(connection, patience_s, command.downgrade, 'base', head())


def _run(connection: sa.Connection, patience_s: int,
         action: Callable[[config.Config, str], None], target: str,
         assumed: str | None) -> None:
    """Let Alembic do something, from a revision assumed if none is noted."""
    _be_patient(connection, patience_s)
    noted = revision(connection)
    current = noted or assumed
    connection.exec_driver_sql(
        f'CREATE TEMPORARY TABLE {VERSION_TABLE} '
        '(version_num VARCHAR(32) NOT NULL PRIMARY KEY)')
    try:
        if current:
            connection.exec_driver_sql(
                f"INSERT INTO {VERSION_TABLE} VALUES ('{current}')")  # noqa: S608
        action(_config(connection), target)
        reached = connection.exec_driver_sql(
            f'SELECT version_num FROM {VERSION_TABLE}').scalar()  # noqa: S608
    finally:
        # If the connection has gone, so has the table.
        with contextlib.suppress(sa.exc.SQLAlchemyError):
            connection.exec_driver_sql(f'DROP TABLE {VERSION_TABLE}')
    if reached != noted:
        connection.exec_driver_sql(f'DROP VIEW IF EXISTS {VERSION_VIEW}')
        if reached:
            # Its maker may be dropped, and the view is still to be read.
            how = ('SQL SECURITY INVOKER '
                   if connection.dialect.name in ('mysql', 'mariadb') else '')
            connection.exec_driver_sql(
                f'CREATE {how}VIEW {VERSION_VIEW} AS '
                f"SELECT '{reached}' AS version_num")


def _be_patient(connection: sa.Connection, seconds: int) -> None:
    name = connection.dialect.name
    if name not in _PATIENCE:
        raise problems.UnusableDatabaseError(
            f'nova-rt knows MariaDB, PostgreSQL and SQLite, but this is {name}.')
    connection.exec_driver_sql(_PATIENCE[name].format(seconds=seconds))


def _config(connection: sa.Connection) -> config.Config:
    found = config.Config()
    found.set_main_option('script_location', str(_MIGRATIONS).replace('%', '%%'))
    found.attributes['connection'] = connection
    return found
