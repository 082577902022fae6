# SPDX-License-Identifier: Apache-2.0
"""Makes the databases of Nova's fixtures quick.

They are SQLite files to which oslo.db opens a new connection for each
transaction, and each waits until the data is on the disk: for a test of thousands
of operations that is most of the time. And each test has engines of its own, which would
render all of Nova's statements to SQL anew: an eighth of what a short test costs.
"""

from collections.abc import Callable
import sqlite3
from typing import Any

import fixtures
import sqlalchemy
from sqlalchemy.dialects.sqlite import pysqlite
import sqlalchemy.event
import sqlalchemy.pool
import sqlalchemy.util

# Of all engines of this process; Nova and Placement have some hundred statements.
_STATEMENTS: Any = sqlalchemy.util.LRUCache(2_000)
_create_engine = sqlalchemy.create_engine


class QuickDatabases(fixtures.Fixture):
    """Keeps connections and rendered statements, and leaves it to the kernel when to write.

    Use it before the databases are made, that is, before the setUp() of Nova's test
    case::

        def setUp(self):
            self.useFixture(quick_database.QuickDatabases())
            super().setUp()
    """

    def _setUp(self) -> None:
        for target, name, value in (
                (sqlalchemy.pool, 'NullPool', _KeptConnections),
                (sqlalchemy, 'create_engine', _create_engine_that_shares),
                # A statement is looked up by its dialect, too.
                (pysqlite.SQLiteDialect_pysqlite, '__eq__', _is_of_the_same_class),
                (pysqlite.SQLiteDialect_pysqlite, '__hash__', _hash_of_the_class)):
            self.useFixture(fixtures.MockPatchObject(target, name, value))


class _KeptConnections(sqlalchemy.pool.QueuePool):
    """As many connections as are needed at once, each used again."""

    def __init__(self, creator: Callable[[], Any], **kwargs: Any) -> None:
        super().__init__(creator, **dict(kwargs, pool_size=0))
        sqlalchemy.event.listen(self, 'connect', _do_not_wait_for_the_disk)


def _do_not_wait_for_the_disk(connection: sqlite3.Connection, record: object) -> None:
    connection.execute('PRAGMA synchronous=OFF')


def _create_engine_that_shares(*args: Any, **kwargs: Any) -> sqlalchemy.Engine:
    engine = _create_engine(*args, **kwargs)
    if isinstance(engine.dialect, pysqlite.SQLiteDialect_pysqlite):
        engine.update_execution_options(compiled_cache=_STATEMENTS)
    return engine


def _is_of_the_same_class(dialect: object, other: object) -> bool:
    return type(dialect) is type(other)


def _hash_of_the_class(dialect: object) -> int:
    return hash(type(dialect))
