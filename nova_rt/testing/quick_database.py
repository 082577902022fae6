# SPDX-License-Identifier: Apache-2.0
"""Makes the databases of Nova's fixtures quick.

They are SQLite files to which oslo.db opens a new connection for each
transaction, and each waits until the data is on the disk: for a test of thousands
of operations that is most of the time.
"""

from collections.abc import Callable
import sqlite3
from typing import Any

import fixtures
import sqlalchemy.event
import sqlalchemy.pool


class QuickDatabases(fixtures.Fixture):
    """Keeps connections, and leaves it to the kernel when to write.

    Use it before the databases are made, that is, before the setUp() of Nova's test
    case::

        def setUp(self):
            self.useFixture(quick_database.QuickDatabases())
            super().setUp()
    """

    def _setUp(self) -> None:
        self.useFixture(fixtures.MockPatchObject(
            sqlalchemy.pool, 'NullPool', _KeptConnections))


class _KeptConnections(sqlalchemy.pool.QueuePool):
    """As many connections as are needed at once, each used again."""

    def __init__(self, creator: Callable[[], Any], **kwargs: Any) -> None:
        super().__init__(creator, **dict(kwargs, pool_size=0))
        sqlalchemy.event.listen(self, 'connect', _do_not_wait_for_the_disk)


def _do_not_wait_for_the_disk(connection: sqlite3.Connection, record: object) -> None:
    connection.execute('PRAGMA synchronous=OFF')
