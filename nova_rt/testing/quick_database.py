# SPDX-License-Identifier: Apache-2.0
"""Makes the databases of Nova's fixtures quick.

They are SQLite files to which oslo.db opens a new connection for each
transaction, and each waits until the disk has it: for a test of thousands of
operations that is most of the time.
"""

import fixtures
import sqlalchemy.event
import sqlalchemy.pool


class QuickDatabases(fixtures.Fixture):
    """Keeps connections, and leaves it to the kernel when to write.

    To be used before the databases are made.
    """

    def _setUp(self):
        self.useFixture(fixtures.MockPatchObject(
            sqlalchemy.pool, 'NullPool', _Kept))


class _Kept(sqlalchemy.pool.QueuePool):
    """As many connections as are needed at once, each used again."""

    def __init__(self, creator, **kwargs):
        super().__init__(creator, **dict(kwargs, pool_size=0))
        sqlalchemy.event.listen(self, 'connect', _do_not_wait_for_the_disk)


def _do_not_wait_for_the_disk(connection, record):
    connection.execute('PRAGMA synchronous=OFF')
