# SPDX-License-Identifier: Apache-2.0
"""What Prometheus is told of containers agrees with the kernel."""

import json
import shutil
import time

import pytest

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import exporter
from stack import kernel as stack_kernel

TOLERANCE = 0.001  # of a pCPU
SCRAPES = 5
PAUSE_S = 0.7
# Our kernel alone counts the first two, and the server runs no jobs.
UNTOLD = ('throttled', 'waiting', 'missed_deadlines')
DASHBOARD = exporter.ETC / 'grafana/nova-rt.json'


@pytest.fixture
def exported(stack, tmp_path):
    """The exporter, which runs."""
    with exporter.running(stack, tmp_path) as running:
        yield running


@pytest.fixture
def server(user, flavors):
    """A container with 30% of a pCPU, all of which it uses."""
    return user.boot(flavors(30_000, 100_000), 'busybox-hog')


def test_what_is_told_is_what_the_kernel_does(exported, user, server):
    container = user.container(server.id)
    (pcpu, share), = container.shares.items()
    for _ in range(SCRAPES):
        assert exported.agrees(
            lambda: stack_kernel.used(container)[1][pcpu],
            'nova_rt_server_used_seconds_total', server.id, str(pcpu))
        time.sleep(PAUSE_S)
    told = exported.scrape()
    for kind in ('reserved', 'enforced'):
        assert told[f'nova_rt_server_{kind}_ratio', server.id, str(pcpu)] == (
            pytest.approx(share, abs=TOLERANCE))
    assert told['nova_rt_server_info', server.id, user.cloud.current_project_id] == 1
    assert told['nova_rt_pcpu_reserved_ratio', str(pcpu)] == pytest.approx(
        share, abs=TOLERANCE)


def test_what_has_ended_is_told_no_more(exported, user, server):
    told = ('nova_rt_server_info', server.id, user.cloud.current_project_id)
    assert told in exported.scrape()
    user.delete(server.id)
    assert told not in exported.scrape()


def test_the_dashboard_shows_it_and_no_alert_is_raised(exported, server, tmp_path):
    if shutil.which('prometheus') is None:
        pytest.skip('There is no prometheus.')
    panels = json.loads(DASHBOARD.read_text())['panels']
    with exporter.prometheus(exported, tmp_path) as prometheus:
        driver.until(lambda: prometheus.query(
            'rate(nova_rt_server_used_seconds_total[5s]) > 0.2'), 'two scrapes have passed')
        for panel in panels:
            for target in panel['targets']:
                query = target['expr'].replace('$host', '.*').replace(
                    '$__rate_interval', '5s')
                assert prometheus.query(query) or any(
                    name in query for name in UNTOLD), panel['title']
        assert prometheus.query('ALERTS') == []
