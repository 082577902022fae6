# SPDX-License-Identifier: Apache-2.0
"""RTShareFilter beside Nova's NUMATopologyFilter, on the same hosts.

Both have to look at every pCPU: one for the bandwidth that is left on it, the
other for whether it is free, for as many vCPUs on dedicated pCPUs.
"""

from collections.abc import Iterator

from nova import exception
from nova import objects
from nova.scheduler import filters
from nova.scheduler import host_manager
from nova.scheduler.filters import numa_topology_filter

from bench import examples
from bench import measure
from nova_rt.filters import rt_share_filter

HOSTS = 1000
PCPUS = 64
ROUNDS = 9
PER_HOST_US = 1e6 / HOSTS

Hosts = list[host_manager.HostState]


def measurements() -> Iterator[measure.Measurement]:
    """Yield hosts that all pass and that all fail, with 2 and 4 cells."""
    for cells in (2, 4):
        hosts = [examples.host_state(number, PCPUS, cells)
                 for number in range(HOSTS)]
        yield _compared(
            hosts, f'all pass, {cells} cells', HOSTS,
            examples.request(examples.with_reservation(examples.WANTED)),
            examples.request(examples.dedicated(examples.WANTED.vcpus)))
        yield _compared(
            hosts, f'all fail, {cells} cells', 0,
            examples.request(examples.with_reservation(examples.TOO_MUCH)),
            examples.request(examples.dedicated(PCPUS // cells)))


def _compared(hosts: Hosts, case: str, expected: int,
              wanted: objects.RequestSpec,
              pinned: objects.RequestSpec) -> measure.Measurement:
    ours = rt_share_filter.RTShareFilter()
    theirs = numa_topology_filter.NUMATopologyFilter()
    for each, spec in ((ours, wanted), (theirs, pinned)):
        passed = _passed(each, hosts, spec)
        if passed != expected:
            raise RuntimeError(
                f'{type(each).__name__} passes {passed} hosts, not '
                f'{expected}: the two would not be compared fairly.')
    seconds = measure.in_turn({
        'ours': lambda: _passed(ours, hosts, wanted),
        'theirs': lambda: _passed(theirs, hosts, pinned)}, ROUNDS)
    found = measure.compared(
        f'RTShareFilter per host, {case}', 'NUMATopologyFilter',
        seconds['ours'], seconds['theirs'], 'µs', PER_HOST_US)
    return measure.with_aims(
        found,
        measure.Aim('under 20 µs', found.ours.median < 20),
        measure.Aim('at most 0.1 of it', found.ratio.median <= 0.1))


def _passed(each: filters.BaseHostFilter, hosts: Hosts,
            spec: objects.RequestSpec) -> int:
    """Return how many hosts pass; NoValidHost is our way to say none."""
    for host in hosts:
        # Nova's filter removes from these; the scheduler sets them each time.
        host.allocation_candidates = [{'allocations': {}, 'mappings': {}}]
    try:
        return len(list(each.filter_all(hosts, spec)))
    except exception.NoValidHost:
        return 0
