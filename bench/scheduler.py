# SPDX-License-Identifier: Apache-2.0
"""select_destinations with and without our filters and weigher.

Nova's SchedulerManager, filters and weighers are real, and so are the compute
nodes, which it reads from SQLite in memory for every request. Placement is a
fake that offers every host at once. Both make the time that ours is compared
with shorter than in a cloud. With as many hosts as a request rarely sees, the time
that Nova needs to read them alone says where Nova itself ends.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import Any
import uuid

from nova import context as nova_context
from nova import objects
from nova import test
import nova.conf
from nova.scheduler import manager
from nova.scheduler import request_filter
from nova.scheduler.client import report
from oslo_utils import timeutils

from bench import examples
from bench import measure
from bench import nova as bench_nova

CONF = nova.conf.CONF
HOSTS = 1000
PCPUS = 64
ROUNDS = 21
# Nova asks Placement for 1,000 unless [scheduler] max_placement_results is raised.
MANY_HOSTS = 10_000
FEW_ROUNDS = 3
MS = 1e3


class FakePlacement:
    """Offers every host, and lets every claim succeed."""

    def __init__(self, providers: list[str]) -> None:
        self._requests = [{
            'allocations': {provider: {'resources': {
                'VCPU': 2, 'MEMORY_MB': 64, 'DISK_GB': 1}}},
            'mappings': {'': [provider]}} for provider in providers]
        self._summaries: dict[str, Any] = {
            provider: {} for provider in providers}

    def get_allocation_candidates(
            self, context: nova_context.RequestContext, resources: Any,
            ) -> tuple[list[Any], dict[str, Any], str]:
        """Return requests, summaries and the microversion."""
        return list(self._requests), dict(self._summaries), '1.39'

    def claim_resources(self, *args: Any, **kwargs: Any) -> bool:
        """Return True: every claim succeeds."""
        return True


def measurements() -> Iterator[measure.Measurement]:
    """Yield a measurement with a reservation and one without, then with many hosts."""
    reserving = ('a reservation', examples.with_reservation(examples.WANTED))
    yield from _with_hosts(
        HOSTS, ROUNDS, [reserving, ('no reservation', examples.flavor({}, 2))])
    yield from _with_hosts(MANY_HOSTS, FEW_ROUNDS, [reserving])


def _with_hosts(hosts: int, rounds: int, requests: Sequence[tuple[str, objects.Flavor]],
                ) -> Iterator[measure.Measurement]:
    """Yield a measurement of each request in a cloud of its own."""
    with bench_nova.running(bench_nova.Case) as case:
        # No service reports for these hosts meanwhile.
        case.flags(service_down_time=86_400)
        providers = [_register(case, number) for number in range(hosts)]
        report.PLACEMENTCLIENT = FakePlacement(providers)
        plain = _scheduler(hosts)
        theirs = list(request_filter.ALL_REQUEST_FILTERS)
        case.flags(
            enabled_filters=[*CONF.filter_scheduler.enabled_filters,
                             'RTShareFilter'],
            available_filters=[
                'nova.scheduler.filters.all_filters',
                'nova_rt.filters.rt_share_filter.RTShareFilter'],
            weight_classes=[
                'nova.scheduler.weights.all_weighers',
                'nova_rt.filters.rt_share_weigher.RTShareWeigher'],
            group='filter_scheduler')
        ours = _scheduler(hosts)
        filters = {'ours': list(request_filter.ALL_REQUEST_FILTERS),
                   'plain': theirs, 'read': theirs}
        for what, flavor in requests:
            yield from _compared(ours, plain, what, flavor, filters, providers, rounds)


def _compared(ours: manager.SchedulerManager, plain: manager.SchedulerManager,
              what: str, flavor: objects.Flavor, filters: Mapping[str, list[Any]],
              providers: Sequence[str], rounds: int) -> Iterator[measure.Measurement]:
    def begin(who: str) -> None:
        # Nova has one list of request filters in a process.
        request_filter.ALL_REQUEST_FILTERS[:] = filters[who]

    seconds = measure.in_turn({
        'ours': lambda: _schedule(ours, flavor),
        'plain': lambda: _schedule(plain, flavor),
        'read': lambda: _read(plain, flavor, providers)}, rounds,
        before={who: functools.partial(begin, who) for who in filters})
    hosts = f'{len(providers):,} hosts'
    measurement = measure.compared(
        f'select_destinations, {what}, {hosts}', 'without filters and weigher',
        seconds['ours'], seconds['plain'], 'ms', MS,
        notes={'pCPUs': PCPUS, 'database': 'SQLite in memory', 'Placement': 'fake'})
    yield measure.with_aims(measurement, measure.Aim(
        'at most 1.05 of it', measure.ratio_of(measurement) <= 1.05))
    yield measure.compared(
        f'Nova reading {hosts}', 'select_destinations without ours',
        seconds['read'], seconds['plain'], 'ms', MS)


def _read(scheduler: manager.SchedulerManager, flavor: objects.Flavor,
          providers: Sequence[str]) -> None:
    """Read all hosts from the database, and do nothing else."""
    for _ in scheduler.host_manager.get_host_states_by_uuids(
            nova_context.get_admin_context(), list(providers), examples.request(flavor)):
        pass


def _schedule(scheduler: manager.SchedulerManager,
              flavor: objects.Flavor) -> None:
    spec = examples.request(flavor)
    (chosen,) = scheduler.select_destinations(
        nova_context.get_admin_context(), spec_obj=spec,
        instance_uuids=[spec.instance_uuid], return_objects=True,
        return_alternates=True)
    if len(chosen) != CONF.scheduler.max_attempts:
        raise RuntimeError(
            'The scheduler did not choose a host with alternates.')


def _scheduler(hosts: int) -> manager.SchedulerManager:
    """Return a scheduler to which all hosts have reported their servers."""
    scheduler = manager.SchedulerManager()
    scheduler.host_manager._instance_info = {
        f'host{number}': {'instances': {}, 'updated': True}
        for number in range(hosts)}
    return scheduler


def _register(case: test.TestCase, number: int) -> str:
    """Put a host into the cell's database; return its provider's id.

    As libvirt's LXC hosts it reports no NUMA topology, which Nova would spend
    much time to read.
    """
    name = f'host{number}'
    context = nova_context.get_admin_context()
    nova_context.set_target_cell(
        context, case.cell_mappings[test.CELL1_NAME])
    objects.Service(
        context, host=name, binary='nova-compute', topic='compute',
        report_count=1, disabled=False,
        last_seen_up=timeutils.utcnow()).create()
    node = objects.ComputeNode(
        context, uuid=str(uuid.UUID(int=number + 1)), host=name,
        hypervisor_hostname=name, hypervisor_type='LXC',
        hypervisor_version=9000000, host_ip='192.0.2.1', vcpus=PCPUS,
        vcpus_used=32, memory_mb=262_144, memory_mb_used=65_536,
        free_ram_mb=196_608, local_gb=1000, local_gb_used=100,
        free_disk_gb=900, disk_available_least=900, cpu_info='{}',
        running_vms=32, current_workload=0, mapped=1,
        cpu_allocation_ratio=16.0, ram_allocation_ratio=1.5,
        disk_allocation_ratio=1.0, metrics='[]', numa_topology=None,
        supported_hv_specs=[objects.HVSpec(
            arch='x86_64', hv_type='lxc', vm_mode='exe')],
        stats=examples.stats(examples.used_host(PCPUS, number)))
    node.create()
    return str(node.uuid)
