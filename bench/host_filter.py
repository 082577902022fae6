# SPDX-License-Identifier: Apache-2.0
"""RTShareFilter compared with Nova's NUMATopologyFilter, on the same hosts.

Both look at every pCPU: ours at the bandwidth that is left, Nova's at whether
it is free, for as many vCPUs on dedicated pCPUs.
"""

from collections.abc import Iterator
import copy

from nova import exception
from nova import objects
from nova.scheduler import filters
from nova.scheduler import host_manager
from nova.scheduler.filters import numa_topology_filter

from bench import examples
from bench import measure
from nova_rt import shares
from nova_rt.filters import request_state
from nova_rt.filters import rt_share_filter

HOSTS = 1000
PCPUS = 64
ROUNDS = 15
PER_HOST_US = 1e6 / HOSTS

Hosts = list[host_manager.HostState]


def measurements() -> Iterator[measure.Measurement]:
    """Yield hosts that all pass and that all fail, with 2 and 4 cells.

    First with hosts unchanged since the last request, as all but the chosen one
    are; then as if all had changed.
    """
    for cells, changed in ((2, False), (4, False), (4, True)):
        hosts = [examples.host_state(number, PCPUS, cells)
                 for number in range(HOSTS)]
        case = f'{cells} cells' + (', all changed' if changed else '')
        yield _compared(
            hosts, f'all pass, {case}', HOSTS,
            examples.request(examples.with_reservation(examples.WANTED)),
            examples.request(examples.dedicated(examples.WANTED.vcpus)),
            changed)
        yield _compared(
            hosts, f'all fail, {case}', 0,
            examples.request(examples.with_reservation(examples.TOO_MUCH)),
            examples.request(examples.dedicated(PCPUS // cells)), changed)


def _compared(hosts: Hosts, case: str, expected: int,
              wanted: objects.RequestSpec, pinned: objects.RequestSpec,
              changed: bool) -> measure.Measurement:
    ours = rt_share_filter.RTShareFilter()
    theirs = numa_topology_filter.NUMATopologyFilter()
    states: Hosts = []

    def begin() -> None:
        # Nova makes them anew for each request, so nothing cached in them lasts
        # until the next.
        request_state.begin(wanted)
        states[:] = [_offered(host) for host in hosts]
        if changed:
            shares.unpack.cache_clear()

    for host_filter, spec in ((ours, wanted), (theirs, pinned)):
        begin()
        passed = _passed(host_filter, states, spec)
        if passed != expected:
            raise RuntimeError(
                f'{type(host_filter).__name__} passes {passed} hosts, not '
                f'{expected}: the two would not be compared fairly.')
    seconds = measure.in_turn({
        'ours': lambda: _passed(ours, states, wanted),
        'theirs': lambda: _passed(theirs, states, pinned)}, ROUNDS,
        before={'ours': begin, 'theirs': begin})
    measurement = measure.compared(
        f'RTShareFilter per host, {case}', 'NUMATopologyFilter',
        seconds['ours'], seconds['theirs'], 'µs', PER_HOST_US)
    return measure.with_aims(
        measurement,
        measure.Aim('under 20 µs', measurement.ours.median < 20),
        measure.Aim('at most 0.1 of it', measure.ratio_of(measurement) <= 0.1))


def _passed(host_filter: filters.BaseHostFilter, hosts: Hosts,
            spec: objects.RequestSpec) -> int:
    """Return how many hosts pass; our filter raises NoValidHost if none does."""
    try:
        return len(list(host_filter.filter_all(hosts, spec)))
    except exception.NoValidHost:
        return 0


def _offered(host: host_manager.HostState) -> host_manager.HostState:
    """Return a host as a request sees it before any filter has looked at it."""
    host = copy.copy(host)
    host.allocation_candidates = [{'allocations': {}, 'mappings': {}}]
    return host
