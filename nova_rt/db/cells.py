# SPDX-License-Identifier: Apache-2.0
"""The databases of all cells, as the API database names them."""

from collections.abc import Iterator
import contextlib
import dataclasses

from nova import context
from nova import objects
import nova.conf
import sqlalchemy as sa
from sqlalchemy import pool

from nova_rt.db import problems


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell, or the API, and where its database is.

    :ivar name: the cell's name, or its UUID if it has none; ``API``
    :ivar url: SQLAlchemy's address of its database, password included
    """

    name: str
    url: str

    @property
    def shown(self) -> str:
        """The address without its password."""
        try:
            return sa.make_url(self.url).render_as_string(hide_password=True)
        except sa.exc.ArgumentError:
            return '***'

    @contextlib.contextmanager
    def connection(self) -> Iterator[sa.Connection]:
        """Connect in autocommit mode, for changes of the schema."""
        # Not Nova's engine: that tries ten times, 10 s apart, and says nothing.
        engine = sa.create_engine(self.url, poolclass=pool.NullPool,
                                  isolation_level='AUTOCOMMIT')
        with engine.connect() as connection:
            yield connection


def api() -> Cell:
    """Return the API database."""
    return Cell('API', nova.conf.CONF.api_database.connection or '')


def every() -> list[Cell]:
    """Return all cells, cell0 and disabled ones included, in order of name.

    :raises UnusableDatabaseError: if the API database cannot be read or knows no cell
    """
    try:
        mappings = objects.CellMappingList.get_all(context.get_admin_context())
    except problems.DATABASE_ERRORS as exc:
        raise problems.UnusableDatabaseError(
            f'The API database cannot be read: {problems.sentence(exc)}; '
            'look at [api_database] connection in nova.conf.') from None
    if not mappings:
        raise problems.UnusableDatabaseError(
            'The API database knows no cell: map them with "nova-manage '
            'cell_v2 map_cell0" and "cell_v2 create_cell" first.')
    return sorted((Cell(mapping.name or mapping.uuid, mapping.database_connection)
                   for mapping in mappings), key=lambda cell: cell.name)
