# SPDX-License-Identifier: Apache-2.0
"""Requests of a project wait for each other, in whatever process they are."""

import contextlib
import multiprocessing
import os
import signal
from unittest import mock

import pytest

from nova_rt.db import cells
from nova_rt.limits import errors
from nova_rt.limits import turns
from nova_rt.tests.e2e.db import deployment as deployments

ON_SERVERS = pytest.mark.engines('mariadb', 'postgresql')
PATIENCE_S = 60


@pytest.fixture
def url(deployment):
    return deployment.engine.url(deployments.API)


@contextlib.contextmanager
def turn_of(url, project):
    """Have the turn of a project in the database at this address."""
    database = mock.patch.object(cells, 'api', return_value=cells.Cell('API', url))
    with database, turns.of(project):
        yield


def has_turn(url, project, pipe):
    """Say when its turn has come, and keep it until told."""
    with turn_of(url, project):
        pipe.send('begun')
        pipe.recv()


@contextlib.contextmanager
def another_process(url, project):
    """A process of nova-api that asks for its turn; yields it, and what it says."""
    # As a service of its own: nothing of this process is in it.
    context = multiprocessing.get_context('spawn')
    here, there = context.Pipe()
    process = context.Process(target=has_turn, args=(url, project, there))
    process.start()
    try:
        yield process, here
    finally:
        process.kill()
        process.join()


@ON_SERVERS
def test_the_next_comes_when_one_has_ended_or_was_killed(url):
    with another_process(url, 'one') as (first, of_first):
        assert of_first.poll(PATIENCE_S)
        with another_process(url, 'one') as (_, of_second):
            assert not of_second.poll(3)
            os.kill(first.pid, signal.SIGKILL)
            assert of_second.poll(PATIENCE_S)
            with another_process(url, 'one') as (_, of_third):
                assert not of_third.poll(3)
                of_second.send('end')
                assert of_third.poll(PATIENCE_S)


@ON_SERVERS
def test_projects_do_not_wait_for_each_other(url):
    with another_process(url, 'one') as (_, of_one):
        assert of_one.poll(PATIENCE_S)
        with another_process(url, 'two') as (_, of_two):
            assert of_two.poll(PATIENCE_S)


@ON_SERVERS
def test_who_waits_too_long_is_told_so(url):
    with another_process(url, 'one') as (_, pipe), mock.patch.object(turns, '_PATIENCE_S', 1):
        assert pipe.poll(PATIENCE_S)
        with pytest.raises(errors.UndecidedError, match='took more than 1 s: try again'):
            turn_of(url, 'one').__enter__()


def test_a_database_that_is_away_is_said():
    gone = 'mysql+pymysql://nova@127.0.0.1:1/nova'
    with pytest.raises(errors.UndecidedError, match='server is away'):
        turn_of(gone, 'one').__enter__()
