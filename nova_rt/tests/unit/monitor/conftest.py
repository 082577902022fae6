# SPDX-License-Identifier: Apache-2.0
import os
import select
import time

import pytest

from nova_rt.monitor import watcher as monitor_watcher
from nova_rt.testing import jobs
from nova_rt.testing import processes

PATIENCE_S = 30


@pytest.fixture
def new_container():
    if os.geteuid():
        pytest.skip('Needs root: makes mount namespaces.')
    made = []

    def new():
        made.append(processes.Container())
        return made[-1]
    yield new
    for container in made:
        container.end()


@pytest.fixture
def container(new_container):
    return new_container()


@pytest.fixture(scope='session')
def built(tmp_path_factory):
    return jobs.build(tmp_path_factory.mktemp('built'))


@pytest.fixture
def application(built, monkeypatch):
    """Return a function that opens an activity in a container."""
    library = jobs.Library(built)

    def within(container, name='control', period_ns=1000 * jobs.MS, deadline_ns=1000 * jobs.MS):
        container.jobs.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(jobs.FOLDER_VARIABLE, str(container.jobs))
        return library.open(name, period_ns, deadline_ns)
    return within


@pytest.fixture
def watcher():
    made = monitor_watcher.Watcher()
    yield made
    made.close()


@pytest.fixture
def hear(watcher):
    """Return a function that waits for so much news."""
    def until(count=1):
        news = []
        end = time.monotonic() + PATIENCE_S
        while len(news) < count:
            assert time.monotonic() < end
            if select.select([watcher], [], [], 1)[0]:
                news += watcher.look()
        return news
    return until


@pytest.fixture
def quiet(watcher):
    """Return a function that returns what is heard in a time."""
    def during(seconds):
        news = []
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([watcher], [], [], left)[0]:
                news += watcher.look()
        return news
    return during
