# SPDX-License-Identifier: Apache-2.0
"""What is in a database, row for row, so that two of them can be compared.

Two deployments in which the same was done differ in what was drawn or counted: UUIDs,
passwords, times, numbers of rows, and the generations by which Placement counts writes.
All else is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
import re

import sqlalchemy as sa

# By table, its rows, by column. Without an order: what is changed may be written anew.
Rows = dict[str, list[dict[str, str]]]

_COUNTED = {'id', 'generation', 'report_count'}
_TIMED = re.compile(r'_at$|^last_seen_up$|^(start|finish)_time$|^launched_on$')
_UUID = re.compile(r'[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}')
_TIME = re.compile(r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?')


class Reader:
    """Reads databases of one deployment; gives UUIDs the numbers of their appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def rows(self, engine: sa.Engine) -> Rows:
        """Return all rows of all tables."""
        metadata = sa.MetaData()
        metadata.reflect(engine)
        with engine.connect() as connection:
            return {table.name: sorted(self._of(table, connection),
                                       key=lambda row: sorted(row.items()))
                    for table in sorted(metadata.tables.values(), key=lambda table: table.name)}

    def _of(self, table: sa.Table, connection: sa.Connection) -> Iterator[dict[str, str]]:
        query = sa.select(table).order_by(*table.primary_key.columns)
        for row in connection.execute(query).mappings():
            yield {name: self._shown(name, value) for name, value in row.items()
                   if name not in _COUNTED and not _TIMED.search(name)}

    def _shown(self, name: str, value: object) -> str:
        if name == 'deleted':
            # A deleted row has its own number there.
            return str(bool(value))
        if name == 'reservation_id':
            return 'DRAWN'
        return _TIME.sub('TIME', _UUID.sub(self._number, str(value)))

    def _number(self, found: re.Match[str]) -> str:
        uuid = found[0].replace('-', '')
        return f'UUID-{self._numbers.setdefault(uuid, len(self._numbers))}'
