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


@pytest.fixture(scope='module')
def aodh(stack):
    """Aodh, as ``up --with alarms`` starts it."""
    parts = [part(stack.site) for part in services.MORE['alarms']]
    for part in parts:
        part.prepare()
        part.start()
    yield
    stack.site.processes.stop([part.name for part in parts])


@pytest.fixture
def alarm(aodh, user, stack):
    """Returns the only alarm that a user has; their catalogue may be older than Aodh."""
    def get():
        alarm, = user.cloud.session.get(stack.site.url('aodh-api', '/v2/alarms')).json()
        return alarm
    return get


@pytest.mark.skipif(bool(alerts.NO_PROMETHEUS), reason=alerts.NO_PROMETHEUS)
def test_heat_makes_one_more_server_when_one_misses_deadlines(
        alarm, owner, flavor, late, stack, observer, tmp_path):
    with alerts.asked_by_aodh(stack, tmp_path):
        server = owner.create(TEMPLATE, image='busybox', flavor=flavor)
        assert alarm()['type'] == 'prometheus'
        late(server)
        driver.until(lambda: alarm()['state'] == 'alarm', 'there is an alarm')
        both = driver.until(lambda: owner.servers() if len(owner.servers()) == 2 else None,
                            'there is one more server')
    more, = {*both} - {server}
    driver.until(lambda: more in observer.at_rest(), 'it runs')
    assert observer.held(more) == HELD
