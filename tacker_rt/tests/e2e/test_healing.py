# SPDX-License-Identifier: Apache-2.0
"""A VNFC that misses deadlines: first it gets more, in place, and only then it is healed."""

import datetime
import itertools
import json
import urllib.request

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from tacker_rt.testing import packages
from tacker_rt.tests.e2e import alerts
from tacker_rt.tests.e2e import servers
from tacker_rt.tests.e2e.heat import HINTS
from tacker_rt.tests.e2e.vnf import STANDARD

PERIOD_US = 100_000
# As in the package, and as in the flavor; the stack's Tacker raises by half.
FIRST, SECOND, MOST = 30_000, 45_000, 60_000
POLICY = '"rt:servers:set": "role:admin or (role:member and project_id:%(project_id)s)"\n'
# What the plug-in writes into a server, of long ago.
MARK = 'nova_rt.raise_asked_at=2026-11-27T00:00:00+00:00'
VDUS = 'Definitions/df_simple.yaml'
NAMED = 'requested_additional_capability_name: vnf'


@pytest.fixture
def members_may_set(stack):
    """Members of a project change its reservations, up to their flavors'."""
    path = stack.site.rundir.etc / 'nova' / 'policy.yaml'
    path.write_text(POLICY)
    yield
    path.unlink()


@pytest.fixture
def flavor_of_most(admin):
    """A flavor that reserves twice what the package asks for."""
    admin.run('flavor create vnf_most --vcpus 2 --ram 64 --disk 1 '
              f'--property hw:cpu.rt_runtime_us={MOST} '
              f'--property hw:cpu.rt_period_us={PERIOD_US}')
    yield 'vnf_most'
    admin.run('flavor delete vnf_most')


def onboarded(operator, edits=None):
    """Upload the standard package, whose first VDU has that flavor; return its VNFD's id."""
    vdus = (packages.EXAMPLES / 'standard' / VDUS).read_text().replace(NAMED, f'{NAMED}_most', 1)
    for old, new in (edits or {}).items():
        vdus = vdus.replace(old, new)
    return operator.onboard('standard', files={VDUS: vdus})


@pytest.fixture
def vnf(flavor_of_most, operator):
    """A VNF that lets itself be healed, and whose first VDU has that flavor."""
    vnf = operator.create(onboarded(operator))
    vnf.instantiate(**STANDARD)
    vnf.let_itself_be_healed()
    return vnf


@pytest.fixture
def alert(stack):
    """Posts what Alertmanager does while an alert goes on."""
    def post(server, **labels):
        body = {'receiver': 'tacker', 'status': 'firing', 'version': '4', 'alerts': [{
            'status': 'firing', 'fingerprint': '1', 'annotations': {},
            'startsAt': datetime.datetime.now(datetime.UTC).isoformat(),
            'labels': {'alertname': 'VnfcMissesDeadlines', 'receiver_type': 'tacker',
                       'function_type': 'auto_heal', 'server': server, 'remedy': 'raise',
                       **labels}}]}
        request = urllib.request.Request(
            stack.site.url('tacker-server', '/alert/auto_healing'), json.dumps(body).encode(),
            {'Content-Type': 'application/json'})
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 204
    return post


@pytest.fixture
def time_passes(user):
    """Lets the time be over for which Tacker waits after a raise: nobody has five minutes."""
    def pass_(server):
        user.run(f'server set {server} --property {MARK}')
    return pass_


def held(runtime_us):
    return servers.Held(runtime_us, PERIOD_US, 2)


@full.only
def test_it_is_raised_in_place_up_to_its_flavor_and_then_healed(
        members_may_set, vnf, alert, time_passes, observer):
    server, = vnf.servers('VDU_RT')
    alert(server)
    assert observer.held(server) == held(SECOND)
    alert(server)
    assert observer.held(server) == held(SECOND)
    time_passes(server)
    alert(server)
    assert observer.held(server) == held(MOST)
    time_passes(server)
    alert(server)
    driver.until(lambda: server not in vnf.servers('VDU_RT'), 'it is made anew')
    vnf.settled()
    vnf.succeeded()
    assert observer.held(*vnf.servers('VDU_RT')) == held(FIRST)


@full.only
def test_what_has_no_room_for_more_is_left_alone(members_may_set, vnf, alert, owner, observer):
    owner.create(HINTS, image='busybox', flavor='vnf', runtime_us=60_000)
    server, = vnf.servers('VDU_RT')
    alert(server)
    vnf.settled()
    assert vnf.servers('VDU_RT') == [server]
    assert observer.held(server) == held(FIRST)


@full.only
def test_a_raise_stays_until_the_package_asks_for_something_else(
        members_may_set, vnf, alert, operator, observer):
    server, = vnf.servers('VDU_RT')
    alert(server)
    assert observer.held(server) == held(SECOND)
    vnf.scale('SCALE_OUT')
    new, = {*vnf.servers('VDU_RT')} - {server}
    assert (observer.held(server), observer.held(new)) == (held(SECOND), held(FIRST))
    vnf.scale('SCALE_IN')
    vnf.change(onboarded(operator), 'VDU_RT')
    assert vnf.servers('VDU_RT') == [server]
    assert observer.held(server) == held(SECOND)
    vnf.change(onboarded(operator, {"'30000'": "'20000'"}), 'VDU_RT')
    assert observer.held(*vnf.servers('VDU_RT')) == held(20_000)


@full.only
@pytest.mark.skipif(bool(alerts.NO_ALERTMANAGER), reason=alerts.NO_ALERTMANAGER)
def test_what_an_application_misses_is_heard_by_tacker(
        members_may_set, vnf, late, time_passes, stack, observer, tmp_path):
    server, = vnf.servers('VDU_RT')
    with observer.watching() as watch, alerts.told_to_tacker(stack, tmp_path):
        late(server)
        for runtime_us in (SECOND, MOST):
            driver.until(lambda expected=runtime_us: observer.runtime(server) == expected,
                         f'it is raised to {runtime_us} µs')
            time_passes(server)
        driver.until(lambda: server not in vnf.servers('VDU_RT'), 'it is made anew',
                     patience=300)
    vnf.settled()
    vnf.succeeded()
    assert observer.held(*vnf.servers('VDU_RT')) == held(FIRST)
    samples = [each for each in watch.samples if each.server == server]
    had = [runtime_us for runtime_us, _ in itertools.groupby(
        each.runtime_us for each in samples)]
    assert had == [FIRST, SECOND, MOST]
    # What is lent to it meanwhile comes on top.
    assert all(least >= each.runtime_us for each in samples for least in each.kernel_us)
