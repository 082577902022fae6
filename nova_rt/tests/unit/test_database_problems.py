# SPDX-License-Identifier: Apache-2.0
"""What an operator reads of a database server that goes away."""

from collections.abc import Callable
import contextlib
import socket
import struct
import threading

import pytest
import sqlalchemy as sa

from nova_rt.db import problems

DRIVERS = ('postgresql+psycopg2', 'mysql+pymysql')
# SO_LINGER: close() sends a reset.
RESET = struct.pack('ii', 1, 0)


def closes(client: socket.socket) -> None:
    """Be a server that is killed when a client has connected."""


def resets(client: socket.socket) -> None:
    """Be one of which not even the kernel's queue is read."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def recovers(client: socket.socket) -> None:
    """Be PostgreSQL that was killed and replays its log (protocol 3.0)."""
    client.recv(1024)
    fields = b'SFATAL\0C57P03\0Mthe database system is in recovery mode\0\0'
    client.sendall(b'E' + struct.pack('!i', 4 + len(fields)) + fields)


def sentence_of(driver: str, serve: Callable[[socket.socket], None],
                options: str = '') -> str:
    """Return the sentence for a connection to a server that does this."""
    with contextlib.closing(socket.create_server(('127.0.0.1', 0))) as server:
        def accept() -> None:
            with server.accept()[0] as client:
                serve(client)

        thread = threading.Thread(target=accept)
        thread.start()
        engine = sa.create_engine(
            f'{driver}://nova:secret@127.0.0.1:{server.getsockname()[1]}/nova{options}')
        with pytest.raises(sa.exc.OperationalError) as raised:
            engine.connect()
        thread.join()
    return problems.sentence(raised.value)


@pytest.mark.parametrize('driver', DRIVERS)
@pytest.mark.parametrize('serve', [closes, resets])
def test_a_server_that_dies_while_somebody_connects_is_away(driver, serve):
    assert sentence_of(driver, serve).startswith('the server is away: start it')


def test_a_server_that_is_not_ready_yet_is_away():
    said = sentence_of('postgresql+psycopg2', recovers, '?sslmode=disable')
    assert said.startswith('the server is away: start it')
    assert 'in recovery mode' in said
