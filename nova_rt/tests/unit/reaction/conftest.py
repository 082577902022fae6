# SPDX-License-Identifier: Apache-2.0
"""Containers are processes with a /run of their own, as for the monitor's tests."""

import pytest

from nova_rt.tests.unit.monitor.conftest import application  # noqa: F401
from nova_rt.tests.unit.monitor.conftest import built  # noqa: F401
from nova_rt.tests.unit.monitor.conftest import new_container  # noqa: F401
from nova_rt.tests.unit.reaction import nodes


@pytest.fixture
def node(tmp_path, new_container, application, monkeypatch):  # noqa: F811
    made = nodes.Node(tmp_path / 'loans', new_container, application, monkeypatch)
    yield made
    if made.reactor is not None:
        made.reactor.stop()
