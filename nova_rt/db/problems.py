# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a database, as one sentence for an operator."""

from oslo_db import exception as oslo_exception
from sqlalchemy import exc

from nova_rt import errors


class UnusableDatabaseError(errors.NovaRTError):
    """A database cannot be used; says what is wrong, and what to do."""


# What SQLAlchemy and oslo.db raise; ImportError, as a driver may be missing.
DATABASE_ERRORS = (
    exc.SQLAlchemyError, oslo_exception.DBError,
    oslo_exception.CantStartEngineError, ImportError)

# What MariaDB (error number) and PostgreSQL (SQLSTATE) answer.
_NO_RIGHT = {1044, 1045, 1142, 1143, 1227, '42501', '28P01', '28000'}
_NO_DATABASE = {1049, '3D000'}
_NO_TABLE = {1146, '42P01'}
_IN_USE = {1205, 1213, '55P03', '40P01'}
_GONE = {2002, 2003, 2006, 2013, 2055, '57P01', '57P02', '57P03', '08006'}

_LOCKED = ('a table is in use for longer than --wait: try again, or end the '
           'transaction that holds it')
_ABSENT = 'Nova\'s tables are not there: run "nova-manage api_db sync" first'
_AWAY = ('the server is away: start it and run this again, which completes '
         'what was begun')
_FORBIDDEN = ('the user of this database may not do that: grant it ALL on the '
              'database, or make it the owner of Nova\'s tables')
_NOWHERE = ('there is no such database: look at the cell\'s connection with '
            '"nova-manage cell_v2 list_cells"')
_SENTENCES = (
    (_NO_RIGHT, _FORBIDDEN),
    (_NO_DATABASE, _NOWHERE),
    (_NO_TABLE, _ABSENT),
    (_IN_USE, _LOCKED),
    (_GONE, _AWAY),
)

# SQLite has no such numbers, and psycopg2 none for a connection that fails.
_BY_WORDS = {
    'database is locked': _LOCKED,
    'no such table': _ABSENT,
    'connection refused': _AWAY,
    'Connection refused': _AWAY,
    'Connection reset by peer': _AWAY,
    'server closed the connection unexpectedly': _AWAY,
    # Starting up, shutting down or in recovery.
    'the database system is': _AWAY,
    'password authentication failed': _FORBIDDEN,
    'does not exist': _NOWHERE,
}


def sentence(error: Exception) -> str:
    """Return what went wrong with a database, and what to do.

    :param error: what SQLAlchemy, oslo.db or this package raised
    """
    # The first before the second, which it derives from.
    if isinstance(error, (exc.NoSuchModuleError, ImportError)):
        return f'no driver for this database is installed ({error})'
    if isinstance(error, exc.ArgumentError):
        return ('the connection is not a database URL: write one such as '
                'mysql+pymysql://user:password@host/nova')
    if isinstance(error, oslo_exception.DBError) and error.inner_exception:
        return sentence(error.inner_exception)
    if not isinstance(error, exc.DBAPIError) or error.orig is None:
        return str(error).rstrip('.')
    return f'{_advice(error, error.orig)} ({_first_line(error.orig)})'


def _advice(error: exc.DBAPIError, origin: BaseException) -> str:
    text = str(origin)
    code = getattr(origin, 'pgcode', None) or next(iter(origin.args), None)
    for codes, advice in _SENTENCES:
        if code in codes:
            return advice
    for words, advice in _BY_WORDS.items():
        if words in text:
            return advice
    return _AWAY if error.connection_invalidated else 'the database refuses'


def _first_line(error: BaseException) -> str:
    words = [str(part) for part in error.args if str(part).strip()]
    return ': '.join(words).strip().split('\n')[0]
