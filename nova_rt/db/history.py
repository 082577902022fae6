# SPDX-License-Identifier: Apache-2.0
"""Our Alembic history on one database: up, down, and where it stands.

Every statement stands alone (autocommit): MariaDB has no transactions over
changes of a schema, and on the others two tables would stay locked until both
are done. So each step looks first at what is there, and whatever an
interruption leaves is completed, or taken back, by running again.

Nothing records the revision: a database has one if it has its ``COLUMNS``. Nova's
archive_deleted_rows stumbles over every table in a cell's database that is not its
own, Alembic's table of versions included.
"""

from collections.abc import Iterator
import pathlib

from alembic import migration
from alembic import operations
from alembic import script
import sqlalchemy as sa

from nova_rt.db import generated
from nova_rt.db import problems

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
    return next(_newest_first()).revision


def revision(connection: sa.Connection) -> str | None:
    """Return the newest revision that a database has whole, None without any.

    All older ones must be whole, too.
    """
    whole = None
    for step in _oldest_first():
        if not generated.applied(connection, step.module.COLUMNS):
            break
        whole = step.revision
    return whole


def columns() -> list[generated.Column]:
    """Return all our columns, in the order in which they came."""
    return [column for step in _oldest_first() for column in step.module.COLUMNS]


def begun(connection: sa.Connection) -> bool:
    """Return whether a database has any of our columns."""
    return generated.begun(connection, columns())


def upgrade(connection: sa.Connection, patience_s: int) -> None:
    """Bring a database to the newest revision; at it already, do nothing.

    :param connection: in autocommit mode
    :param patience_s: how long to wait for a table that is in use, in s
    :raises UnusableDatabaseError: if Nova's tables are not there, or hold columns of our
        names that are not ours
    """
    _be_patient(connection, patience_s)
    with operations.Operations.context(migration.MigrationContext.configure(connection)):
        for step in _oldest_first():
            if not generated.applied(connection, step.module.COLUMNS):
                generated.add(step.module.COLUMNS)


def downgrade(connection: sa.Connection, patience_s: int) -> None:
    """Take everything of ours out of a database; without any, do nothing.

    What an interrupted upgrade has left is taken out as well. See
    :func:`upgrade` for parameters.
    """
    _be_patient(connection, patience_s)
    with operations.Operations.context(migration.MigrationContext.configure(connection)):
        for step in _newest_first():
            generated.drop(step.module.COLUMNS)


def _newest_first() -> Iterator[script.Script]:
    return script.ScriptDirectory(str(_MIGRATIONS)).walk_revisions()


def _oldest_first() -> list[script.Script]:
    return list(_newest_first())[::-1]


def _be_patient(connection: sa.Connection, seconds: int) -> None:
    name = connection.dialect.name
    if name not in _PATIENCE:
        raise problems.UnusableDatabaseError(
            f'nova-rt knows MariaDB, PostgreSQL and SQLite, but this is {name}.')
    connection.exec_driver_sql(_PATIENCE[name].format(seconds=seconds))
