# SPDX-License-Identifier: Apache-2.0
"""What Prometheus is told of a host."""

import prometheus_client
import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt import usage
from nova_rt.metrics import collector
from nova_rt.metrics import servers
from nova_rt.monitor import record
from nova_rt.tests.unit.monitor import examples
from nova_rt.virt import containers

UUID = '6f1d7c1e-0f43-4a36-9a4a-2f5d6d1f3c11'
SERVER = servers.Server(UUID, 'project-1', 7, ledger.Holding(
    reservation.Reservation(30_000, 100_000, 2), (0, 2)))
ENFORCED = bandwidth.to_bandwidth(30_000, 100_000)
# In fixed point it is rounded down.
SHARE = ENFORCED / bandwidth.BW_UNIT
CAP = bandwidth.fraction_to_bandwidth(0.5)
GOT = {UUID: {0: usage.Usage(ENFORCED, 1_500_000, 250_000, 12, 1),
              2: usage.Usage(0, 10)}}


class Host:
    """Stands in for a host of four pCPUs, the last of which holds no reservations."""

    dialect = 'hcbs-multi'

    def __init__(self, occupancy=shares.Occupancy.CHOSEN, got=GOT, given_up=None):
        self.empty = shares.HostShares.empty((CAP, CAP, CAP, 0), occupancy)
        self._got = got
        self._given_up = given_up or {}

    def usages(self, running):
        assert running == dict.fromkeys(running, (7, SERVER.holding))
        return self._got

    def given_up(self, running):
        assert running == dict.fromkeys(running, 7)
        return self._given_up


class Running:
    """Stands in for what libvirt says."""

    def __init__(self, *running, problem=None):
        self._running = running
        self._problem = problem

    def running(self):
        if self._problem:
            raise self._problem
        return list(self._running)


@pytest.fixture
def told():
    """Returns what a scrape would be told: a number by name and labels."""
    def told(host, running, tells=lambda server: ()):
        registry = prometheus_client.CollectorRegistry()
        registry.register(collector.Reservations(
            host, running, tells, lambda: {'loan': 3, 'stop': 0}))
        return {(sample.name, *sample.labels.values()): pytest.approx(sample.value, abs=1e-6)
                for metric in registry.collect() for sample in metric.samples}
    return told


def test_everything_that_is_known_is_told_in_base_units(told):
    assert told(Host(), Running(SERVER)) == {
        ('nova_rt_up',): 1, ('nova_rt_host_info', 'hcbs-multi'): 1,
        **{('nova_rt_pcpu_capacity_ratio', pcpu): 0.5 for pcpu in '012'},
        ('nova_rt_pcpu_reserved_ratio', '0'): SHARE,
        ('nova_rt_pcpu_reserved_ratio', '1'): 0,
        ('nova_rt_pcpu_reserved_ratio', '2'): SHARE,
        ('nova_rt_reactions_total', 'loan'): 3, ('nova_rt_reactions_total', 'stop'): 0,
        ('nova_rt_server_info', UUID, 'project-1'): 1,
        ('nova_rt_server_period_seconds', UUID): 0.1,
        ('nova_rt_server_reserved_ratio', UUID, '0'): SHARE,
        ('nova_rt_server_reserved_ratio', UUID, '2'): SHARE,
        ('nova_rt_server_enforced_ratio', UUID, '0'): SHARE,
        ('nova_rt_server_enforced_ratio', UUID, '2'): 0,
        ('nova_rt_server_given_up_ratio', UUID, '0'): 0,
        ('nova_rt_server_given_up_ratio', UUID, '2'): 0,
        ('nova_rt_server_used_seconds_total', UUID, '0'): 1.5,
        ('nova_rt_server_used_seconds_total', UUID, '2'): 0.00001,
        ('nova_rt_server_waiting_seconds_total', UUID, '0'): 0.25,
        ('nova_rt_server_throttled_total', UUID, '0'): 12,
        ('nova_rt_server_overruns_total', UUID, '0'): 1}


def test_what_applications_tell_is_summed_as_their_names_are_the_tenants(told):
    activities = [record.decode(examples.missed(misses, name=name))
                  for name, misses in ((b'control', 2), (b'planner', 1))]
    found = told(Host(), Running(SERVER), {SERVER: activities}.__getitem__)
    assert found['nova_rt_server_jobs_total', UUID] == 3
    assert found['nova_rt_server_missed_deadlines_total', UUID] == 3


def test_where_a_reservation_occupies_every_pcpu_all_are_reserved(told):
    found = told(Host(shares.Occupancy.EVERY), Running(SERVER))
    assert [found['nova_rt_pcpu_reserved_ratio', pcpu] for pcpu in '012'] == [SHARE] * 3


def test_a_server_that_the_kernel_does_not_know_has_nothing_enforced(told):
    found = told(Host(got={}), Running(SERVER))
    assert found['nova_rt_server_enforced_ratio', UUID, '0'] == 0
    assert ('nova_rt_server_used_seconds_total', UUID, '0') not in found


def test_what_a_server_has_given_up_is_told_by_pcpu(told):
    found = told(Host(given_up={UUID: (0, 0, ENFORCED, 0)}), Running(SERVER))
    assert [found['nova_rt_server_given_up_ratio', UUID, pcpu] for pcpu in '02'] == [0, SHARE]


def test_without_libvirt_the_host_is_told_and_nothing_counts_as_free(told, caplog):
    found = told(Host(got={}), Running(problem=containers.UnreachableError('It is away.')))
    assert found['nova_rt_up',] == 0
    assert found['nova_rt_pcpu_capacity_ratio', '0'] == 0.5
    assert not [name for name, *_ in found if 'reserved' in name]
    assert 'It is away.' in caplog.text


def test_there_are_as_many_series_as_the_documentation_says(told):
    """Beside the reactions: for a host 2 and 2 for each pCPU, for a server 2 and up to 7
    for each vCPU."""
    found = told(Host(got={UUID: dict.fromkeys((0, 2), GOT[UUID][0])}), Running(SERVER))
    reactions = [name for name, *_ in found if name == 'nova_rt_reactions_total']
    assert len(found) - len(reactions) == 2 + 2 * 3 + 2 + 7 * 2
