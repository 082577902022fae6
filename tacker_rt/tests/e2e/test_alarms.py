# SPDX-License-Identifier: Apache-2.0
"""An alarm of Aodh's on missed deadlines, by which Heat makes one more server."""

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from stack import services
from tacker_rt.tests.e2e import alerts
from tacker_rt.tests.e2e import heat
from tacker_rt.tests.e2e import servers

TEMPLATE = heat.HINTS.with_name('alarm.yaml')
HELD = servers.Held(30_000, 100_000, 2)

pytestmark = full.only


@pytest.fixture
def aodh(stack):
    """Aodh, as ``up --with alarms`` starts it."""
    parts = [part(stack.site) for part in services.MORE['alarms']]
    for part in parts:
        part.prepare()
        part.start()
    yield
    stack.site.processes.stop([part.name for part in parts])


@pytest.mark.skipif(bool(alerts.NO_PROMETHEUS), reason=alerts.NO_PROMETHEUS)
def test_heat_makes_one_more_server_when_one_misses_deadlines(
        aodh, owner, user, flavor, late, stack, observer, tmp_path):
    with alerts.asked_by_aodh(stack, tmp_path):
        server = owner.create(TEMPLATE, image='busybox', flavor=flavor)
        alarm, = alarms(user)
        assert alarm['type'] == 'prometheus'
        late(server)
        driver.until(lambda: alarms(user)[0]['state'] == 'alarm', 'there is an alarm')
        both = driver.until(lambda: owner.servers() if len(owner.servers()) == 2 else None,
                            'there is one more server')
    more, = {*both} - {server}
    driver.until(lambda: more in observer.at_rest(), 'it runs')
    assert observer.held(more) == HELD


def alarms(user):
    """Return the alarms that a user has."""
    return user.cloud.session.get(
        '/v2/alarms', endpoint_filter={'service_type': 'alarming'}).json()
