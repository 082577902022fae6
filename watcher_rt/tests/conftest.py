# SPDX-License-Identifier: Apache-2.0
"""Watcher's own database and engine, by fixtures that it ships."""

# Before all else: it chooses between threads and eventlet, once.
import watcher.tests.unit  # isort: skip  # noqa: F401

import contextlib

from oslo_config import cfg
from oslo_messaging import conffixture
import pytest
from watcher.common import context
from watcher.tests.local_fixtures import conf_fixture
from watcher.tests.local_fixtures import db

from watcher_rt.tests.unit import simulated


@pytest.fixture
def database():
    """A database of Watcher's for one test; returns the context of an administrator."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(conf_fixture.ConfReloadFixture())
        stack.enter_context(conffixture.ConfFixture(cfg.CONF)).transport_url = 'fake:/'
        stack.enter_context(db.WatcherDatabase())
        yield context.make_context(is_admin=True)
        cfg.CONF.reset()


@pytest.fixture
def proxy():
    """A stand-in for nova-rt's API, which the plug-ins ask."""
    proxy = simulated.Proxy()
    with simulated.put_in_place(proxy):
        yield proxy
