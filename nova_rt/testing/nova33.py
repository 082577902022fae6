# SPDX-License-Identifier: Apache-2.0
"""What Nova 33's own fixtures lack for native threads, and Nova 34's have.

Those of Nova 33 keep databases in memory, where all threads share one connection
and, with it, each other's transactions. And they look in vain for the green thread
that a notification comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import MutableMapping
import contextlib
import itertools
import pathlib
import sqlite3
import threading
from typing import Any
import unittest

import fixtures
import futurist._thread
from nova import version
from nova.tests.fixtures import notifications
from oslo_db.sqlalchemy import enginefacade
from oslo_db.sqlalchemy import engines
import sqlalchemy.event

IN_USE = version.version_string().startswith('33.')


class NativeThreads(fixtures.Fixture):
    """Mends the fixtures of Nova 33, and does nothing with another Nova.

    Use it before them, that is, before the setUp() of Nova's test case::

        def setUp(self):
            self.useFixture(nova33.NativeThreads(self))
            super().setUp()

    :param test: the test case that uses them
    """

    def __init__(self, test: unittest.TestCase) -> None:
        super().__init__()
        self._test_id = test.id()

    def _setUp(self) -> None:
        if not IN_USE:
            return
        self.useFixture(_FileDatabases())
        self.useFixture(fixtures.MockPatchObject(
            notifications.FakeVersionedNotifier, '_get_sender_test_case_id',
            lambda notifier: self._test_id))
        # How long the end of each executor takes, in seconds.
        self.useFixture(fixtures.MockPatchObject(
            futurist._thread.ThreadWorker, 'MAX_IDLE_FOR', 0.01))


class _FileDatabases(fixtures.Fixture):
    """Puts each database into a file, and has one thread at a time write."""

    def _setUp(self) -> None:
        self._directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self._numbers = itertools.count()
        # By engine, of which each database has one.
        self._locks: MutableMapping[object, threading.RLock] = {}
        self._create_unpatched = engines.create_engine
        self.useFixture(fixtures.MockPatchObject(
            engines, 'create_engine', self._create_engine))
        manager = enginefacade._TransactionContextManager
        self.useFixture(fixtures.MockPatchObject(
            manager, '_transaction_scope',
            _one_writer(manager._transaction_scope, self._locks)))

    def _create_engine(self, sql_connection: str, **kwargs: Any) -> Any:
        path = self._directory / f'{next(self._numbers)}.sqlite'
        _make(path)
        engine = self._create_unpatched(
            f'sqlite:///{path}', **dict(kwargs, sqlite_synchronous=False))
        self._locks[engine] = threading.RLock()

        # Nova relies on a database in memory ending with this.
        @sqlalchemy.event.listens_for(engine, 'engine_disposed')
        def start_over(disposed: object) -> None:
            for file in self._directory.glob(f'{path.name}*'):
                file.unlink()
            _make(path)
        return engine


def _make(path: pathlib.Path) -> None:
    """Make an empty database whose readers do not wait for its writer.

    No engine does it: SQLite refuses the change while others use the file.
    """
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute('PRAGMA journal_mode=WAL')


def _one_writer(unpatched: Callable[..., Any], locks: Mapping[object, threading.RLock],
                ) -> Callable[..., Any]:
    """Have writers wait before the transaction, not in it.

    There SQLite would refuse whoever has read what another then wrote.
    """
    @contextlib.contextmanager
    def transaction_scope(manager: Any, context: Any) -> Iterator[Any]:
        with contextlib.ExitStack() as stack:
            if manager._mode is enginefacade._WRITER:
                stack.enter_context(locks[manager.get_engine()])
            yield stack.enter_context(unpatched(manager, context))
    return transaction_scope
