# SPDX-License-Identifier: Apache-2.0
"""Alerts for Prometheus, and the dashboard for Grafana."""

import json
import pathlib
import re
import shutil
import subprocess

import prometheus_client
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt import usage
from nova_rt.metrics import collector
from nova_rt.metrics import servers
from nova_rt.monitor import record
from nova_rt.tests.unit.monitor import examples

ETC = pathlib.Path(__file__).parents[1]
RULES = ETC / 'prometheus/nova-rt.rules.yml'
OF_TACKER = RULES.with_name('nova-rt-tacker.rules.yml')
OF_AODH = RULES.with_name('nova-rt-aodh.rules.yml')
OF_PROJECTS = RULES.with_name('nova-rt-projects.rules.yml')
DASHBOARD = ETC / 'grafana/nova-rt.json'


@pytest.mark.parametrize('command', [
    ('check', 'rules', RULES), ('test', 'rules', RULES.with_name('nova-rt.tests.yml')),
    ('check', 'rules', OF_TACKER),
    ('test', 'rules', OF_TACKER.with_name('nova-rt-tacker.tests.yml')),
    ('check', 'rules', OF_AODH),
    ('test', 'rules', OF_AODH.with_name('nova-rt-aodh.tests.yml')),
    ('check', 'rules', OF_PROJECTS),
    ('test', 'rules', OF_PROJECTS.with_name('nova-rt-projects.tests.yml'))])
def test_promtool_finds_nothing_wrong_with_the_alerts(command):
    if shutil.which('promtool') is None:
        pytest.skip('There is no promtool: install the package prometheus.')
    done = subprocess.run(('promtool', *command), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


class Host:
    """Stands in for a host on which the kernel counts everything."""

    dialect = 'hcbs-multi'
    empty = shares.HostShares.empty((1,))

    def usages(self, running):
        return {server: {0: usage.VcpuUsage(1, 1, 1, 1, 1, vcpu=0)} for server in running}

    def given_up(self, running):
        return {server: [1] for server in running}


class Running:
    """Stands in for what libvirt says."""

    def running(self):
        return [servers.Server('uuid', 'project', 1, ledger.Holding(
            reservation.Reservation(1_000, 100_000, 1), (0,)))]


@pytest.fixture(scope='module')
def exported():
    """The names of all metrics."""
    registry = prometheus_client.CollectorRegistry()
    registry.register(collector.Reservations(
        Host(), Running(), lambda number: [record.decode(examples.missed())],
        lambda: {'loan': 1}))
    return {sample.name for metric in registry.collect() for sample in metric.samples}


@pytest.mark.parametrize('file', [RULES, OF_TACKER, OF_AODH, OF_PROJECTS, DASHBOARD],
                         ids=lambda file: file.name)
def test_only_metrics_that_there_are_are_named(file, exported):
    named = set(re.findall(r'\bnova_rt_[a-z_]+\b', file.read_text()))
    assert named
    assert named <= exported


def test_the_dashboards_panels_have_a_description_and_do_not_overlap():
    panels = json.loads(DASHBOARD.read_text())['panels']
    places = [(x, y) for panel in panels for grid in [panel['gridPos']]
              for x in range(grid['x'], grid['x'] + grid['w'])
              for y in range(grid['y'], grid['y'] + grid['h'])]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24
    assert all(panel['description'] and panel['targets'] for panel in panels)


def test_the_documentation_describes_every_metric_and_alert(exported):
    page = (ETC.parent / 'doc/source/operator/metrics.rst').read_text()
    for name in exported | set(re.findall(r'alert: (\w+)', RULES.read_text())):
        assert f'``{name}' in page, name
