# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_rt.db import history
from nova_rt.testing import full
from nova_rt.tests.e2e.db import deployment as deployments
from nova_rt.tests.e2e.db import servers

# Nova does not support SQLite in production.
ENGINES = [each for each in servers.ENGINES if full.WANTED or each is not servers.SQLite]


def pytest_generate_tests(metafunc):
    """Run a test on all engines, or on those that it names."""
    if 'deployment' in metafunc.fixturenames:
        # By name: pytest takes a mark of a single class for a decorator of it.
        marker = metafunc.definition.get_closest_marker('engines')
        metafunc.parametrize(
            'deployment', [each for each in ENGINES
                           if not marker or each.name in marker.args],
            ids=lambda each: each.name, indirect=True)


@pytest.fixture(scope='session')
def made():
    """What has been made, by kind of engine; stopped when all tests are done."""
    running = {}
    yield running
    for each in running.values():
        each.engine.stop()


@pytest.fixture
def deployment(request, made, tmp_path_factory):
    """The databases of a Nova; given back without rows and without our columns.

    The server is made for the first test that needs it; without its programs
    the test is skipped.
    """
    kind = request.param
    reason = kind.why_not()
    if reason:
        pytest.skip(reason)
    if kind not in made:
        made[kind] = deployments.Deployment(
            kind(tmp_path_factory.mktemp(kind.name)))
        made[kind].create()
    yield made[kind]
    for cell in deployments.CELLS:
        with made[kind].connect(cell) as connection:
            history.downgrade(connection, 60)
            for table in ('instance_extra', 'instances', 'compute_nodes'):
                connection.exec_driver_sql(f'DELETE FROM {table}')


@pytest.fixture
def sizes():
    """How many compute nodes and instances; as many as it takes if FULL=1."""
    return (10_000, 100_000) if full.WANTED else (200, 2_000)
