# SPDX-License-Identifier: Apache-2.0
"""Hosts and requests of a cloud in use, the same in every run."""

from collections.abc import Sequence
import random

from nova import objects
from nova.objects import fields
from nova.scheduler import host_manager
from nova.virt import hardware

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares

CAP = bandwidth.fraction_to_bandwidth(0.95)
PERIODS_US = (10_000, 50_000, 100_000, 200_000)
# Half a server per pCPU, so that the pCPUs differ in what they have left.
SERVERS_PER_PCPU = 0.5

RUNTIME = reservation.EXTRA_SPEC_PREFIX + reservation.RUNTIME
PERIOD = reservation.EXTRA_SPEC_PREFIX + reservation.PERIOD

WANTED = reservation.Reservation(20_000, 100_000, 2)
# Fits unused pCPUs only, of which used_host() leaves fewer.
TOO_MUCH = reservation.Reservation(95_000, 100_000, 32)


def used_host(pcpus: int, seed: int) -> shares.HostShares:
    """Return a host with reservations of many sizes, placed by worst-fit."""
    chance = random.Random(seed)  # noqa: S311
    host = shares.HostShares.empty((CAP,) * pcpus)
    for _ in range(int(pcpus * SERVERS_PER_PCPU)):
        period_us = chance.choice(PERIODS_US)
        wanted = reservation.Reservation(
            chance.randint(period_us // 20, period_us // 4), period_us,
            chance.choice((1, 2, 4)))
        host = host.add(wanted, fitting.place(host, wanted))
    return host


def stats(host: shares.HostShares) -> dict[str, str]:
    """Return what nova-rt-compute reports of a host."""
    servers = int(len(host.capacity) * SERVERS_PER_PCPU)
    policy = fitting.DEFAULT
    return {**shares.to_stats(host, policy in fitting.WEIGHING_SIZES),
            'rt_placement_policy': policy,
            'rt_dialect': 'hcbs-multi', 'num_instances': str(servers),
            'io_workload': '0', 'failed_builds': '0'}


def numa_topology(pcpus: int, cells: int, pinned: Sequence[int] = (),
                  ) -> objects.NUMATopology:
    """Return a host's cells, with two hardware threads for each core.

    :param pinned: the pCPUs that dedicated servers already have
    """
    size = pcpus // cells
    return objects.NUMATopology(cells=[
        _numa_cell(number, range(number * size, (number + 1) * size), pinned)
        for number in range(cells)])


def _numa_cell(number: int, pcpus: range, pinned: Sequence[int],
               ) -> objects.NUMACell:
    return objects.NUMACell(
        id=number, socket=number, cpuset=set(), pcpuset=set(pcpus),
        memory=65_536, cpu_usage=0, memory_usage=0,
        pinned_cpus=set(pcpus) & set(pinned),
        siblings=[{cpu, cpu + 1} for cpu in pcpus[::2]],
        mempages=[objects.NUMAPagesTopology(
            size_kb=4, total=16_777_216, used=0, reserved=0)],
        network_metadata=objects.NetworkMetadata(
            physnets=set(), tunneled=False))


def pinned_pcpus(pcpus: int, seed: int) -> list[int]:
    """Return the pCPUs of other servers: half of each 8 cores."""
    chance = random.Random(seed)  # noqa: S311
    return [cpu for first in range(0, pcpus, 16)
            for core in chance.sample(range(first, first + 16, 2), 4)
            for cpu in (core, core + 1)]


def host_state(number: int, pcpus: int, cells: int,
               ) -> host_manager.HostState:
    """Return a host as nova-scheduler sees it, with both kinds of load."""
    name = f'host{number}'
    state = host_manager.HostState(name, name, 'cell1')
    state.stats = stats(used_host(pcpus, number))
    state.num_instances = int(state.stats['num_instances'])
    state.numa_topology = numa_topology(
        pcpus, cells, pinned_pcpus(pcpus, number))
    state.cpu_allocation_ratio = state.ram_allocation_ratio = 1.0
    return state


def flavor(extra_specs: dict[str, str], vcpus: int) -> objects.Flavor:
    """Return a flavor with these extra specs that is not in a database."""
    return objects.Flavor(
        id=1, flavorid='bench', name='bench', vcpus=vcpus, memory_mb=64,
        root_gb=1, ephemeral_gb=0, swap=0, rxtx_factor=1.0, vcpu_weight=0,
        disabled=False, is_public=True, extra_specs=extra_specs)


def with_reservation(wanted: reservation.Reservation) -> objects.Flavor:
    """Return the flavor that asks for a reservation."""
    return flavor({RUNTIME: str(wanted.runtime_us),
                   PERIOD: str(wanted.period_us)}, wanted.vcpus)


def dedicated(vcpus: int) -> objects.Flavor:
    """Return the flavor that asks for as many whole pCPUs."""
    return flavor({'hw:cpu_policy': fields.CPUAllocationPolicy.DEDICATED},
                  vcpus)


def request(asked: objects.Flavor) -> objects.RequestSpec:
    """Return what nova-scheduler is asked for a server of this flavor."""
    image = objects.ImageMeta(
        id='7a0f1bd1-1d5a-4d9b-9f0c-6f1a3ac1a1b0', status='active',
        container_format='bare', disk_format='raw', min_ram=0, min_disk=0,
        properties=objects.ImageMetaProps())
    return objects.RequestSpec(
        flavor=asked, image=image, scheduler_hints={}, num_instances=1,
        numa_topology=hardware.numa_get_constraints(asked, image),
        pci_requests=objects.InstancePCIRequests(requests=[]),
        instance_uuid='5c2cb7d0-55a3-4f4c-9f5b-2f0a3f9f4d5e',
        project_id='bench', user_id='bench', instance_group=None,
        availability_zone=None, ignore_hosts=None, force_hosts=None,
        force_nodes=None, requested_destination=None, retry=None, limits=None,
        requested_resources=[], security_groups=objects.SecurityGroupList(),
        request_level_params=objects.RequestLevelParams())
