# SPDX-License-Identifier: Apache-2.0
"""One request of a project at a time, of all processes of nova-api.

The lock is the API database's, by a name: the server gives it back when the connection
ends, so a process that is killed leaves none. Threads of one process wait for each other
first, and take one connection together.
"""

from collections.abc import Iterator
import contextlib
import hashlib
import math
import time

from oslo_concurrency import lockutils
import sqlalchemy as sa

from nova_rt.db import cells
from nova_rt.db import problems
from nova_rt.limits import errors

_PATIENCE_S = 60
# At most 64 characters.
_NAME = 'nova-rt-limit-{}'


@contextlib.contextmanager
def of(project: str) -> Iterator[None]:
    """Wait for the turn of this request, and keep it.

    :raises UndecidedError: if it does not come
    """
    name = _NAME.format(hashlib.sha256(project.encode()).hexdigest()[:32])
    begun_s = time.monotonic()
    with _of_this_process(name), contextlib.ExitStack() as turn:
        # Waited for together.
        left_s = max(1, math.ceil(_PATIENCE_S - (time.monotonic() - begun_s)))
        try:
            connection = turn.enter_context(cells.api().connection())
            came = _take(connection, name, left_s)
        except problems.DATABASE_ERRORS as exc:
            raise errors.UndecidedError(
                f'The API database does not let requests of a project wait for each other: '
                f'{problems.sentence(exc)}.') from None
        if not came:
            raise _too_late()
        yield


@contextlib.contextmanager
def _of_this_process(name: str) -> Iterator[None]:
    """Wait for the other threads of this process.

    :raises UndecidedError: if they take too long
    """
    lock = lockutils.internal_lock(name)
    if not lock.acquire(timeout=_PATIENCE_S):
        raise _too_late()
    try:
        yield
    finally:
        lock.release()


def _too_late() -> errors.UndecidedError:
    return errors.UndecidedError(
        f'Other requests of the project took more than {_PATIENCE_S} s: try again.')


def _take(connection: sa.Connection, name: str, left_s: int) -> bool:
    """Take the lock of this name, and return whether that was possible in time.

    It lasts as long as the connection.
    """
    match connection.dialect.name:
        case 'mysql':
            return bool(connection.scalar(sa.select(sa.func.get_lock(name, left_s))))
        case 'postgresql':
            connection.exec_driver_sql(f"SET lock_timeout = '{left_s}s'")
            with contextlib.suppress(sa.exc.OperationalError):
                connection.execute(sa.select(sa.func.pg_advisory_lock(
                    sa.func.hashtextextended(name, 0))))
                return True
            return False
    # SQLite serves a single process.
    return True
