# SPDX-License-Identifier: Apache-2.0
"""Threads of one process wait for each other, and not without end."""

import contextlib
import threading
from unittest import mock

import pytest

from nova_rt.db import cells
from nova_rt.limits import errors
from nova_rt.limits import turns

# Far more than it takes.
ENOUGH_S = 60


@pytest.fixture
def connection(monkeypatch):
    """To the API database of one process."""
    connection = mock.Mock(**{'dialect.name': 'sqlite'})
    monkeypatch.setattr(cells, 'api', lambda: mock.Mock(
        connection=lambda: contextlib.nullcontext(connection)))
    return connection


@pytest.fixture
def taken(connection):
    """Another thread has the turn of the project "one"."""
    begun, end = threading.Event(), threading.Event()

    def keep():
        with turns.of('one'):
            begun.set()
            end.wait(ENOUGH_S)
    thread = threading.Thread(target=keep)
    thread.start()
    assert begun.wait(ENOUGH_S)
    yield end
    end.set()
    thread.join()


def ask(project):
    """Return what a request of a project is told."""
    try:
        with turns.of(project):
            return 'come'
    except errors.UndecidedError as exc:
        return str(exc)


def in_thread(project):
    """Return the same, None if it is told nothing."""
    told = []
    # Ends with the process, whatever it waits for.
    thread = threading.Thread(target=lambda: told.append(ask(project)), daemon=True)
    thread.start()
    thread.join(ENOUGH_S / 6)
    return told[0] if told else None


def test_who_waits_too_long_for_another_thread_is_told_so(taken, monkeypatch):
    monkeypatch.setattr(turns, '_PATIENCE_S', 1)
    assert in_thread('one') == 'Other requests of the project took more than 1 s: try again.'
    assert in_thread('two') == 'come'
    taken.set()
    assert in_thread('one') == 'come'


def test_a_turn_that_failed_is_given_back(connection):
    with pytest.raises(ZeroDivisionError), turns.of('one'):
        raise ZeroDivisionError
    assert in_thread('one') == 'come'


def test_threads_and_processes_are_waited_for_together(connection, monkeypatch):
    connection.dialect.name = 'mysql'
    connection.scalar.return_value = 0
    clock = iter([100.0, 145.5])
    monkeypatch.setattr(turns.time, 'monotonic', lambda: next(clock))
    assert ask('one') == 'Other requests of the project took more than 60 s: try again.'
    (statement,), _ = connection.scalar.call_args
    assert list(statement.compile().params.values())[1] == 15
