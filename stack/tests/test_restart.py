# SPDX-License-Identifier: Apache-2.0
"""When a restarted part of Nova counts as up."""

import datetime
import types

import pytest

from stack.services import keystone
from stack.services import nova


@pytest.fixture
def reported(monkeypatch):
    """What Nova lists of a conductor that starts without a process."""
    service = types.SimpleNamespace(state='up', updated_at=None)
    compute = types.SimpleNamespace(services=lambda **_: [service])
    monkeypatch.setattr(keystone, 'cloud',
                        lambda site: types.SimpleNamespace(compute=compute))
    monkeypatch.setattr(nova.Service, 'start', lambda self: None)
    return service


def test_the_first_start_is_over_when_it_is_registered(reported):
    conductor = nova.NovaConductor(site=None)
    conductor.start()
    assert conductor.ready()


def test_a_restart_is_not_over_by_what_the_one_before_registered(reported):
    conductor = nova.NovaConductor(site=None)
    conductor.start()
    conductor.start()
    assert not conductor.ready()
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    reported.updated_at = later.replace(tzinfo=None).isoformat()
    assert conductor.ready()
