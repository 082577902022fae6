# SPDX-License-Identifier: Apache-2.0
"""Copies of a real host and a real server in Nova's databases.

A size of cloud that one machine does not have: the rows are those that Nova has written,
with other names and uuids. There is no service behind a copied host, and no guest behind
a copied server. Placement knows of neither.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import json
from typing import Any
import uuid

import sqlalchemy as sa

Row = dict[str, Any]


class Copies:
    """Rows of Nova's databases, copied and taken away again.

    :param cell: the database of the cell
    :param api: Nova's API database
    """

    def __init__(self, cell: sa.Engine, api: sa.Engine) -> None:
        self._engines = {engine: _tables(engine) for engine in (cell, api)}
        self._cell, self._api = cell, api

    def add_hosts(self, host: str, names: Sequence[str],
                  stats: Callable[[int], Mapping[str, str]] = lambda number: {}) -> None:
        """Copy a host: its compute node, its compute service, and which cell it is in.

        :param host: the name of the real one
        :param stats: by number of the copy, what its compute node reports otherwise
        """
        for engine, name in ((self._cell, 'compute_nodes'), (self._cell, 'services'),
                             (self._api, 'host_mappings')):
            table = self._engines[engine][name]
            columns = table.columns.keys()
            rows = self._rows(engine, table, table.c.host == host)
            self._insert(engine, table, [
                {**row, 'host': copy,
                 **({'uuid': str(uuid.uuid4())} if 'uuid' in columns else {}),
                 **({'hypervisor_hostname': copy,
                     'stats': json.dumps({**json.loads(row['stats']), **stats(number)})}
                    if 'stats' in columns else {})}
                for number, copy in enumerate(names) for row in rows])

    def add_servers(self, server: str, hosts: Sequence[str]) -> list[str]:
        """Copy a server, with all rows that name it; return the uuids of the copies.

        :param server: the uuid of the real one
        :param hosts: for each copy, the name of its host
        """
        copies = [(str(uuid.uuid4()), host) for host in hosts]
        for engine, tables in self._engines.items():
            for table in tables.values():
                name = 'uuid' if table.name == 'instances' else 'instance_uuid'
                if name in table.columns and not table.name.startswith('shadow_'):
                    rows = self._rows(engine, table, table.c[name] == server)
                    self._insert(engine, table, [
                        _of_server(row, server, copy, host)
                        for copy, host in copies for row in rows])
        return [copy for copy, _ in copies]

    def remove(self, hosts: Sequence[str], servers: Sequence[str] = ()) -> None:
        """Take copies away again."""
        for engine, tables in self._engines.items():
            with _unchecked(engine) as database:
                for table in tables.values():
                    name = 'uuid' if table.name == 'instances' else 'instance_uuid'
                    if servers and name in table.columns:
                        database.execute(sa.delete(table).where(table.c[name].in_(servers)))
                    if table.name in {'compute_nodes', 'services', 'host_mappings'}:
                        database.execute(sa.delete(table).where(table.c.host.in_(hosts)))

    @staticmethod
    def _rows(engine: sa.Engine, table: sa.Table, of: sa.ColumnElement[bool]) -> list[Row]:
        """Return rows without the key, and without what the database computes."""
        left_out = {column.name for column in table.columns
                    if column.computed is not None or column.primary_key}
        where = [of, *([table.c.deleted == 0] if 'deleted' in table.columns else []),
                 *([table.c.binary == 'nova-compute'] if 'binary' in table.columns else [])]
        with engine.connect() as database:
            return [{name: value for name, value in row.items() if name not in left_out}
                    for row in database.execute(sa.select(table).where(*where)).mappings()]

    @staticmethod
    def _insert(engine: sa.Engine, table: sa.Table, rows: Sequence[Row]) -> None:
        if not rows:
            return
        with _unchecked(engine) as database:
            database.execute(sa.insert(table), rows)


@contextlib.contextmanager
def _unchecked(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Yield a connection that takes rows in any order, whichever refer to others."""
    with engine.begin() as database:
        database.execute(sa.text('SET FOREIGN_KEY_CHECKS = 0'))
        try:
            yield database
        finally:
            # The connection goes back to its pool.
            database.execute(sa.text('SET FOREIGN_KEY_CHECKS = 1'))


def _of_server(row: Row, server: str, copy: str, host: str) -> Row:
    """Return a row that names a server, for its copy on a host."""
    changed = {name: value.replace(server, copy) if isinstance(value, str) else value
               for name, value in row.items()}
    places = {name: host for name in ('host', 'node', 'launched_on') if name in row}
    # What belongs to a server may have a uuid of its own.
    own = {'uuid': str(uuid.uuid4())} if row.get('uuid') not in (None, server) else {}
    return changed | places | own


def _tables(engine: sa.Engine) -> dict[str, sa.Table]:
    metadata = sa.MetaData()
    metadata.reflect(engine)
    return {table.name: table for table in metadata.sorted_tables}
