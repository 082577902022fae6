# SPDX-License-Identifier: Apache-2.0
"""The metrics, made anew at each scrape.

There is one series of each for a pCPU of the host, or for a pCPU or vCPU of a server, so their
number follows from the reservations alone: see :doc:`/operator/metrics`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from oslo_log import log as logging
from prometheus_client import core
from prometheus_client import registry

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import shares
from nova_rt import usage
from nova_rt.metrics import servers
from nova_rt.metrics import totals
from nova_rt.monitor import record
from nova_rt.virt import host

LOG = logging.getLogger(__name__)

_MICRO = 1e-6


@dataclasses.dataclass(frozen=True, slots=True)
class _Counter:
    """A counter of what a vCPU of a server got, or a server on a pCPU.

    :ivar count: in :class:`nova_rt.usage.Usage`
    :ivar unit: of the metric in that of the count
    """

    name: str
    text: str
    count: str
    unit: float = 1


_COUNTERS = (
    _Counter('nova_rt_server_used_seconds',
             'CPU time that the vCPU has used, or the container on the pCPU.',
             'used_us', _MICRO),
    _Counter('nova_rt_server_waiting_seconds',
             'For how long the vCPU or container was ready, and waited for its budget or turn.',
             'waited_us', _MICRO),
    _Counter('nova_rt_server_throttled',
             'How often the server used its budget up before a period ended.', 'throttled'),
    _Counter('nova_rt_server_overruns',
             'How often the server had used more than its budget when it was stopped.',
             'overruns'),
)


# Returns what the activities of a server tell.
Tells = Callable[[servers.Server], Sequence[record.Record]]


class Reservations(registry.Collector):
    """The reservations of this host, as the kernel holds them.

    :param reservations: the host
    :param running: what runs there
    :param tells: what the applications of a server tell of their jobs
    :param reacted: how often the host has reacted to misses, by what it did
    """

    def __init__(self, reservations: host.Host, running: servers.Servers,
                 tells: Tells, reacted: Callable[[], Mapping[str, int]]) -> None:
        self._host = reservations
        self._servers = running
        self._tells = tells
        self._totals = totals.Totals()
        self._reacted = reacted

    def collect(self) -> Iterator[core.Metric]:
        """Yield all metrics; without libvirt, those of the host alone."""
        running = self._running()
        if running is not None:
            self._totals.keep(running)
        yield up(running is not None)
        yield from self._of_host(running)
        yield self._reactions()
        yield from _of_servers(running or ())
        yield from _of_usage(running or (), self._host.usages({
            server.uuid: (server.number, server.holding) for server in running or ()}))
        yield self._given_up(running or ())
        yield from self._of_jobs(running or ())

    def _reactions(self) -> core.Metric:
        metric = core.CounterMetricFamily(
            'nova_rt_reactions', 'What was done about missed deadlines since the host booted.',
            labels=['reaction'])
        for reaction, number in self._reacted().items():
            metric.add_metric([reaction], number)
        return metric

    def _given_up(self, running: Sequence[servers.Server]) -> core.Metric:
        metric = core.GaugeMetricFamily(
            'nova_rt_server_given_up_ratio',
            'The bandwidth of the server that a more critical one has for a while.',
            labels=['server', 'pcpu'])
        found = self._host.given_up({server.uuid: server.number for server in running})
        for server in running:
            freed = found.get(server.uuid)
            for pcpu in server.holding.pcpus:
                metric.add_metric([server.uuid, str(pcpu)], _ratio(freed[pcpu] if freed else 0))
        return metric

    def _of_jobs(self, running: Sequence[servers.Server]) -> Iterator[core.Metric]:
        """Yield what applications tell, of each server in the sum: names are the tenant's."""
        jobs = core.CounterMetricFamily(
            'nova_rt_server_jobs', 'Jobs that applications say they have done.',
            labels=['server'])
        misses = core.CounterMetricFamily(
            'nova_rt_server_missed_deadlines',
            'Those of the jobs that missed their deadlines.', labels=['server'])
        for server in running:
            told = self._totals.of(server, self._tells(server))
            if told is not None:
                jobs.add_metric([server.uuid], told[0])
                misses.add_metric([server.uuid], told[1])
        yield from (jobs, misses)

    def _running(self) -> Sequence[servers.Server] | None:
        """Return what runs, None if libvirt does not say."""
        try:
            return self._servers.running()
        except errors.NovaRTError as exc:
            LOG.warning('No server is shown: %s', exc)
            return None

    def _of_host(self, running: Sequence[servers.Server] | None) -> Iterator[core.Metric]:
        info = core.GaugeMetricFamily(
            'nova_rt_host_info', 'How the kernel takes reservations: 1.', labels=['dialect'])
        info.add_metric([self._host.dialect], 1)
        yield info
        yield _by_pcpu('nova_rt_pcpu_capacity_ratio',
                       'The largest bandwidth that reservations may have on the pCPU.',
                       self._host.empty, self._host.empty.capacity)
        if running is not None:
            held = self._host.empty.add_all(
                (server.holding.reservation.bandwidth, server.holding.pcpus)
                for server in running)
            yield _by_pcpu('nova_rt_pcpu_reserved_ratio',
                           'The bandwidth that the reservations of running servers occupy.',
                           self._host.empty, held.used)


def _by_pcpu(name: str, text: str, offered: shares.HostShares,
             values: Iterable[int]) -> core.Metric:
    """Return a metric of the pCPUs that may hold reservations."""
    metric = core.GaugeMetricFamily(name, text, labels=['pcpu'])
    for pcpu, (capacity, value) in enumerate(zip(offered.capacity, values, strict=True)):
        if capacity:
            metric.add_metric([str(pcpu)], _ratio(value))
    return metric


def _of_servers(running: Iterable[servers.Server]) -> Iterator[core.Metric]:
    info = core.GaugeMetricFamily(
        'nova_rt_server_info', 'Whose the server is: 1.', labels=['server', 'project'])
    period = core.GaugeMetricFamily(
        'nova_rt_server_period_seconds', 'The period of the reservation.', labels=['server'])
    reserved = core.GaugeMetricFamily(
        'nova_rt_server_reserved_ratio',
        'The bandwidth that the server has on the pCPU, as Nova has promised it.',
        labels=['server', 'pcpu'])
    for server in running:
        wanted = server.holding.reservation
        info.add_metric([server.uuid, server.project], 1)
        period.add_metric([server.uuid], wanted.period_us * _MICRO)
        for pcpu in server.holding.pcpus:
            reserved.add_metric([server.uuid, str(pcpu)], _ratio(wanted.bandwidth))
    yield from (info, period, reserved)


def _of_usage(running: Iterable[servers.Server],
              got: usage.ByServer) -> Iterator[core.Metric]:
    enforced = core.GaugeMetricFamily(
        'nova_rt_server_enforced_ratio',
        'The bandwidth that the kernel holds for the server on the pCPU.',
        labels=['server', 'pcpu'])
    for server in running:
        for pcpu in server.holding.pcpus:
            # A server that the kernel does not know has nothing, which must show.
            found = got.get(server.uuid, {}).get(pcpu, usage.Usage(0))
            enforced.add_metric([server.uuid, str(pcpu)], _ratio(found.enforced))
    yield from (enforced, _places(got))
    for counter in _COUNTERS:
        metric = core.CounterMetricFamily(counter.name, counter.text)
        for uuid, by_pcpu in got.items():
            for pcpu, found in by_pcpu.items():
                count = getattr(found, counter.count)
                if count is not None:
                    metric.add_sample(f'{counter.name}_total', {
                        'server': uuid, **_counted(pcpu, found)}, count * counter.unit)
        yield metric


def _places(got: usage.ByServer) -> core.Metric:
    metric = core.GaugeMetricFamily(
        'nova_rt_server_vcpu_info', 'On which pCPU the vCPU of a virtual machine is to run: 1.',
        labels=['server', 'vcpu', 'pcpu'])
    for uuid, by_pcpu in got.items():
        for pcpu, found in by_pcpu.items():
            if isinstance(found, usage.VcpuUsage):
                metric.add_metric([uuid, str(found.vcpu), str(pcpu)], 1)
    return metric


def _counted(pcpu: int, found: usage.Usage) -> dict[str, str]:
    """Return the label of what the kernel has counted.

    A series must be of the same as long as it lasts, else it jumps when a vCPU moves.
    """
    if isinstance(found, usage.VcpuUsage):
        return {'vcpu': str(found.vcpu)}
    return {'pcpu': str(pcpu)}


def _ratio(value: int) -> float:
    return value / bandwidth.BW_UNIT


def up(answers: bool) -> core.Metric:
    """Return whether libvirt answers, as a metric."""
    return core.GaugeMetricFamily(
        'nova_rt_up', 'Whether libvirt says which servers run: 1 or 0.', int(answers))
