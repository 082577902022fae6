# SPDX-License-Identifier: Apache-2.0
"""Generated columns over the JSON that Nova writes.

A document that is NULL or no JSON, or a value that is not of the column's kind, gives NULL
and never an error: the columns must not stand in the way of Nova's own writes.

MariaDB and SQLite compute them when they are read (VIRTUAL): adding one does not touch a
row. PostgreSQL 15 only has stored ones, which it computes on writing, and its cast to JSON
fails on what is no JSON. So there a function for each kind of value catches that. Matching
the text instead would need none, but could not tell the new flavor of a server that is being
resized from its old one.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from alembic import op
import sqlalchemy as sa

from nova_rt.db import problems

# The keys that lead to a server's own extra specs in instance_extra.flavor.
EXTRA_SPECS = ('cur', 'nova_object.data', 'extra_specs')

# The same on every engine: exact, and half up.
_CPUS_PER_UNIT = '0.00000095367431640625'  # 2 ** -20
_DIGITS = 12


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of value.

    :ivar type: of the column, on every engine
    :ivar function: the name of PostgreSQL's function, which returns ``returned`` for what
        matches ``pattern``
    """

    type: str
    function: str
    returned: str
    pattern: str


_NUMBER = ('nova_rt_number', 'bigint', f'^[0-9]{{1,{_DIGITS}}}$')
SHARE = Kind('DECIMAL(12, 4)', *_NUMBER)
"""A whole number of at most 12 digits in fixed point, shown in CPUs."""
TIME = Kind('BIGINT', *_NUMBER)
"""A whole number of at most 12 digits."""
LETTER = Kind('VARCHAR(1)', 'nova_rt_letter', 'text', '^[ABC]$')
"""A criticality."""


@dataclasses.dataclass(frozen=True)
class Column:
    """A value somewhere in a document.

    :ivar table: Nova's table
    :ivar name: of the generated column
    :ivar document: Nova's column that holds JSON
    :ivar path: the keys that lead to the value
    """

    table: str
    name: str
    document: str
    path: tuple[str, ...]
    kind: Kind


class _Virtual:
    """Columns that are computed when they are read, by expressions alone."""

    storage = 'VIRTUAL'

    def function(self, kind: Kind) -> str | None:
        """Return the statement that creates what a kind needs: there is none."""


class MariaDB(_Virtual):
    """Added in an instant; the JSON functions never fail."""

    at_once = True

    def value(self, column: Column) -> str:
        """Return the expression of a column."""
        text = f"JSON_VALUE({column.document}, '{_json_path(column.path)}')"
        if column.kind is LETTER:
            # Its own comparisons do not tell a from A.
            return (f'CASE WHEN JSON_VALID({column.document}) '
                    f"AND CHAR_LENGTH({text}) = 1 AND {text} REGEXP '(?-i)[ABC]' "
                    f'THEN {text} END')
        share = f'ROUND(CAST({text} AS DECIMAL({_DIGITS})) * {_CPUS_PER_UNIT}, 4)'
        time = f'CAST({text} AS UNSIGNED)'
        return (f'CASE WHEN JSON_VALID({column.document}) '
                f'AND CHAR_LENGTH({text}) BETWEEN 1 AND {_DIGITS} '
                f"AND {text} NOT REGEXP '[^0-9]' "
                f'THEN {share if column.kind is SHARE else time} END')


class SQLite(_Virtual):
    """Its JSON functions fail, so what is no JSON is NULL."""

    at_once = False

    def value(self, column: Column) -> str:
        """Return the expression of a column."""
        # As JSON and without quotes: as text it would end at an escaped NUL.
        text = (f'trim(CASE WHEN json_valid({column.document}) '
                f'THEN {column.document} END '
                f"-> '{_json_path(column.path)}', '\"')")
        if column.kind is LETTER:
            return f"CASE WHEN {text} IN ('A', 'B', 'C') THEN {text} END"
        number = f'CAST({text} AS INTEGER)'
        # It has no decimals: in tenths of thousandths, and half up.
        share = f'({number} * 10000 + 524288) / 1048576 / 10000.0'
        return (f'CASE WHEN length({text}) BETWEEN 1 AND {_DIGITS} '
                f"AND {text} NOT GLOB '*[^0-9]*' "
                f'THEN {share if column.kind is SHARE else number} END')


class PostgreSQL:
    """Stored columns, by functions that give NULL where the cast fails."""

    storage = 'STORED'
    at_once = True

    def function(self, kind: Kind) -> str | None:
        """Return the statement that creates what a kind needs."""
        return f"""
CREATE OR REPLACE FUNCTION {kind.function}(document text, path text[])
RETURNS {kind.returned} LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    found text;
BEGIN
    found := document::json #>> path;
    RETURN CASE WHEN found ~ '{kind.pattern}' THEN found::{kind.returned} END;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$
"""

    def value(self, column: Column) -> str:
        """Return the expression of a column."""
        value = (f'{column.kind.function}({column.document}, '
                 f"'{{{','.join(column.path)}}}')")
        return f'ROUND({value} * {_CPUS_PER_UNIT}, 4)' if column.kind is SHARE else value


Engine = MariaDB | SQLite | PostgreSQL
ENGINES: Mapping[str, type[Engine]] = {
    'mysql': MariaDB, 'mariadb': MariaDB, 'sqlite': SQLite,
    'postgresql': PostgreSQL,
}


def applied(connection: sa.Connection, columns: Sequence[Column]) -> bool:
    """Return whether a database has all of the columns, generated as ours are."""
    return all(_generated(connection, column.table, columns).get(column.name)
               for column in columns)


def begun(connection: sa.Connection, columns: Sequence[Column]) -> bool:
    """Return whether a database has any of them, as an interruption may leave it."""
    return any(any(_generated(connection, column.table, columns).values())
               for column in columns)


def add(columns: Sequence[Column]) -> None:
    """Add the columns that are not there."""
    engine = ENGINES[op.get_bind().dialect.name]()
    missing = {table: [column for column in columns
                       if column.table == table and column.name not in there]
               for table, there in _present(columns).items()}
    for kind in _kinds(columns).values():
        function = engine.function(kind)
        if function is not None:
            op.get_bind().exec_driver_sql(function)
    for table, additions in missing.items():
        _alter(table, [_addition(engine, column) for column in additions],
               engine.at_once)


def drop(columns: Sequence[Column]) -> None:
    """Drop those of the columns that are there, and are ours."""
    engine = ENGINES[op.get_bind().dialect.name]()
    for table in dict.fromkeys(column.table for column in columns):
        there = _generated(op.get_bind(), table, columns)
        _alter(table, [f'DROP COLUMN {column.name}' for column in columns
                       if column.table == table and there.get(column.name)],
               engine.at_once)
    for name, kind in _kinds(columns).items():
        if engine.function(kind) is not None:
            op.get_bind().exec_driver_sql(f'DROP FUNCTION IF EXISTS {name}(text, text[])')


def _kinds(columns: Sequence[Column]) -> dict[str, Kind]:
    """Return the kinds of the columns, one for each function."""
    return {column.kind.function: column.kind for column in columns}


def _present(columns: Sequence[Column]) -> dict[str, set[str]]:
    """Return which of the columns each table has.

    :raises UnusableDatabaseError: if a table is not there, or a column is somebody else's
    """
    present: dict[str, set[str]] = {column.table: set() for column in columns}
    for table, ours in present.items():
        if not sa.inspect(op.get_bind()).has_table(table):
            raise problems.UnusableDatabaseError(
                f'There is no table {table}: run "nova-manage db sync" first.')
        for name, generated in _generated(op.get_bind(), table, columns).items():
            if not generated:
                raise problems.UnusableDatabaseError(
                    f'The table {table} has a column {name} that is not '
                    'generated, so it is not of nova-rt: rename it first.')
            ours.add(name)
    return present


def _generated(connection: sa.Connection, table: str,
               columns: Sequence[Column]) -> dict[str, bool]:
    """Return for those of the columns that a table has whether they are generated."""
    inspector = sa.inspect(connection)
    if not inspector.has_table(table):
        return {}
    names = {column.name for column in columns if column.table == table}
    return {found['name']: 'computed' in found
            for found in inspector.get_columns(table)
            if found['name'] in names}


def _addition(engine: Engine, column: Column) -> str:
    return (f'ADD COLUMN {column.name} {column.kind.type} GENERATED ALWAYS AS '
            f'({engine.value(column)}) {engine.storage}')


def _alter(table: str, changes: Sequence[str], at_once: bool) -> None:
    """Change a table; in one statement where the engine has such."""
    statements = [', '.join(changes)] if at_once and changes else changes
    for statement in statements:
        op.get_bind().exec_driver_sql(f'ALTER TABLE {table} {statement}')


def _json_path(keys: Sequence[str]) -> str:
    """Return a JSON path; MariaDB and SQLite quote keys alike."""
    return '$' + ''.join(f'."{key}"' for key in keys)
