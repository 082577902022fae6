# SPDX-License-Identifier: Apache-2.0
"""Shares of compute nodes, runtime and period of instances

Four generated columns over the JSON that Nova writes. A document that is NULL
or no JSON, or a value that is no whole number of at most 12 digits, gives NULL
and never an error: the columns must not stand in the way of Nova's own writes.

MariaDB and SQLite compute them when they are read (VIRTUAL): adding one does
not touch a row. PostgreSQL 15 only has stored ones, which it computes on
writing, and its cast to JSON fails on what is no JSON. So there a function
catches that. Matching the text instead would need none, but could not tell the
new flavor of a server that is being resized from its old one.

Revision ID: c1f0a87d52e3
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from alembic import op
import sqlalchemy as sa

from nova_rt.db import problems

revision = 'c1f0a87d52e3'
down_revision = None
branch_labels = None
depends_on = None

# The same on every engine: exact, and half up.
_CPUS_PER_UNIT = '0.00000095367431640625'  # 2 ** -20
_DIGITS = 12
_SHARE = 'DECIMAL(12, 4)'
_TIME = 'BIGINT'

_FUNCTION = 'nova_rt_number'


@dataclasses.dataclass(frozen=True)
class Column:
    """A number somewhere in a document.

    :ivar table: Nova's table
    :ivar name: of the generated column
    :ivar document: Nova's column that holds JSON
    :ivar path: the keys that lead to the number
    :ivar kind: _SHARE, kept in fixed point and shown in CPUs, or _TIME in µs
    """

    table: str
    name: str
    document: str
    path: tuple[str, ...]
    kind: str


_FLAVOR = ('cur', 'nova_object.data', 'extra_specs')

COLUMNS = (
    Column('compute_nodes', 'rt_share', 'stats', ('rt_share',), _SHARE),
    Column('compute_nodes', 'rt_share_used', 'stats', ('rt_share_used',),
           _SHARE),
    Column('instance_extra', 'rt_runtime_us', 'flavor',
           (*_FLAVOR, 'hw:cpu.rt_runtime_us'), _TIME),
    Column('instance_extra', 'rt_period_us', 'flavor',
           (*_FLAVOR, 'hw:cpu.rt_period_us'), _TIME),
)


class MariaDB:
    """Virtual columns, added in an instant; the JSON functions never fail."""

    storage = 'VIRTUAL'
    at_once = True
    before: Sequence[str] = ()
    after: Sequence[str] = ()

    def value(self, column: Column) -> str:
        """Return the expression of a column."""
        text = (f'JSON_VALUE({column.document}, '
                f"'{_json_path(column.path)}')")
        share = f'ROUND(CAST({text} AS DECIMAL({_DIGITS})) * {_CPUS_PER_UNIT}, 4)'
        time = f'CAST({text} AS UNSIGNED)'
        return (f'CASE WHEN JSON_VALID({column.document}) '
                f'AND CHAR_LENGTH({text}) BETWEEN 1 AND {_DIGITS} '
                f"AND {text} NOT REGEXP '[^0-9]' "
                f'THEN {share if column.kind == _SHARE else time} END')


class SQLite:
    """Virtual columns; its JSON functions fail, so what is no JSON is NULL."""

    storage = 'VIRTUAL'
    at_once = False
    before: Sequence[str] = ()
    after: Sequence[str] = ()

    def value(self, column: Column) -> str:
        """Return the expression of a column."""
        # As JSON and without quotes: as text it would end at an escaped NUL.
        text = (f'trim(CASE WHEN json_valid({column.document}) '
                f'THEN {column.document} END '
                f"-> '{_json_path(column.path)}', '\"')")
        number = f'CAST({text} AS INTEGER)'
        # It has no decimals: in tenths of thousandths, and half up.
        share = f'({number} * 10000 + 524288) / 1048576 / 10000.0'
        return (f'CASE WHEN length({text}) BETWEEN 1 AND {_DIGITS} '
                f"AND {text} NOT GLOB '*[^0-9]*' "
                f'THEN {share if column.kind == _SHARE else number} END')


class PostgreSQL:
    """Stored columns, by a function that gives NULL where the cast fails."""

    storage = 'STORED'
    at_once = True
    before = (f"""
CREATE OR REPLACE FUNCTION {_FUNCTION}(document text, path text[])
RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    found text;
BEGIN
    found := document::json #>> path;
    RETURN CASE WHEN found ~ '^[0-9]{{1,{_DIGITS}}}$' THEN found::bigint END;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$
""",)
    after = (f'DROP FUNCTION IF EXISTS {_FUNCTION}(text, text[])',)

    def value(self, column: Column) -> str:
        """Return the expression of a column."""
        number = (f'{_FUNCTION}({column.document}, '
                  f"'{{{','.join(column.path)}}}')")
        if column.kind == _SHARE:
            return f'ROUND({number} * {_CPUS_PER_UNIT}, 4)'
        return number


Engine = MariaDB | SQLite | PostgreSQL
ENGINES: Mapping[str, type[Engine]] = {
    'mysql': MariaDB, 'mariadb': MariaDB, 'sqlite': SQLite,
    'postgresql': PostgreSQL,
}


def applied(connection: sa.Connection) -> bool:
    """Return whether a database has all the columns, generated as ours are."""
    return all(_generated(connection, column.table).get(column.name)
               for column in COLUMNS)


def begun(connection: sa.Connection) -> bool:
    """Return whether a database has any of it, as an interruption may leave it."""
    return any(any(_generated(connection, column.table).values()) for column in COLUMNS)


def upgrade() -> None:
    """Add the columns that are not there."""
    engine = ENGINES[op.get_bind().dialect.name]()
    missing = {table: [column for column in COLUMNS
                       if column.table == table and column.name not in there]
               for table, there in _present().items()}
    for statement in engine.before:
        op.get_bind().exec_driver_sql(statement)
    for table, columns in missing.items():
        _alter(table, [_addition(engine, column) for column in columns],
               engine.at_once)


def downgrade() -> None:
    """Drop those of the columns that are there, and are ours."""
    engine = ENGINES[op.get_bind().dialect.name]()
    for table in dict.fromkeys(column.table for column in COLUMNS):
        there = _generated(op.get_bind(), table)
        _alter(table, [f'DROP COLUMN {column.name}' for column in COLUMNS
                       if column.table == table and there.get(column.name)],
               engine.at_once)
    for statement in engine.after:
        op.get_bind().exec_driver_sql(statement)


def _present() -> dict[str, set[str]]:
    """Return which of the columns each table has.

    :raises UnusableDatabaseError: if a table is not there, or a column is somebody else's
    """
    present: dict[str, set[str]] = {column.table: set() for column in COLUMNS}
    for table, ours in present.items():
        if not sa.inspect(op.get_bind()).has_table(table):
            raise problems.UnusableDatabaseError(
                f'There is no table {table}: run "nova-manage db sync" first.')
        for name, generated in _generated(op.get_bind(), table).items():
            if not generated:
                raise problems.UnusableDatabaseError(
                    f'The table {table} has a column {name} that is not '
                    'generated, so it is not of nova-rt: rename it first.')
            ours.add(name)
    return present


def _generated(connection: sa.Connection, table: str) -> dict[str, bool]:
    """Return for columns of our names whether they are generated."""
    inspector = sa.inspect(connection)
    if not inspector.has_table(table):
        return {}
    names = {column.name for column in COLUMNS if column.table == table}
    return {found['name']: 'computed' in found
            for found in inspector.get_columns(table)
            if found['name'] in names}


def _addition(engine: Engine, column: Column) -> str:
    return (f'ADD COLUMN {column.name} {column.kind} GENERATED ALWAYS AS '
            f'({engine.value(column)}) {engine.storage}')


def _alter(table: str, changes: Sequence[str], at_once: bool) -> None:
    """Change a table; in one statement where the engine has such."""
    statements = [', '.join(changes)] if at_once and changes else changes
    for statement in statements:
        op.get_bind().exec_driver_sql(f'ALTER TABLE {table} {statement}')


def _json_path(keys: Sequence[str]) -> str:
    """Return a JSON path; MariaDB and SQLite quote keys alike."""
    return '$' + ''.join(f'."{key}"' for key in keys)
