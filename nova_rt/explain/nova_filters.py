# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler says of a host besides Placement: zone and filters."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.scheduler import filters
from nova.scheduler import host_manager
from oslo_config import cfg
from oslo_log import log as logging

LOG = logging.getLogger(__name__)
CONF = cfg.CONF

AGGREGATE, FILTER = 'aggregate', 'filter'
# What a refusal is about, and what it means.
_MEANINGS = {
    'AggregateInstanceExtraSpecsFilter':
        (AGGREGATE, "its aggregates lack what the flavor's extra specs ask of them"),
    'AggregateImagePropertiesIsolation':
        (AGGREGATE, "its aggregates and the image's properties differ"),
    'AggregateMultiTenancyIsolation': (AGGREGATE, 'its aggregates are for other projects'),
    'AggregateTypeAffinityFilter': (AGGREGATE, 'its aggregates are for other flavors'),
    'ComputeCapabilitiesFilter':
        (FILTER, "it lacks capabilities that the flavor's extra specs ask for"),
    'DifferentHostFilter': (FILTER, 'a server that it is to be apart from is there'),
    'ImagePropertiesFilter': (FILTER, "it cannot run what the image's properties ask for"),
    'IoOpsFilter': (FILTER, 'it is busy with as many operations as it may be'),
    'IsolatedHostsFilter': (FILTER, 'only isolated images go to isolated hosts'),
    'JsonFilter': (FILTER, 'what the hint "query" says is not so'),
    'NUMATopologyFilter': (FILTER, 'its NUMA nodes have not left what is asked for'),
    'NumInstancesFilter': (FILTER, 'it has as many servers as it may have'),
    'PciPassthroughFilter': (FILTER, 'it has not left the PCI devices that are asked for'),
    'SameHostFilter': (FILTER, 'the servers that it is to be with are elsewhere'),
    'ServerGroupAffinityFilter': (FILTER, 'the servers of its group are elsewhere'),
    'ServerGroupAntiAffinityFilter':
        (FILTER, 'as many servers of its group as may be together are there'),
    'SimpleCIDRAffinityFilter': (FILTER, 'its address is not near the one that is asked for'),
}
# What they look at is told in more detail.
_TOLD_ELSEWHERE = {'ComputeFilter', 'RTShareFilter'}
_APART, _TOGETHER = 'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter'
# They may refuse a host once it has taken some of the servers that are asked for; servers of
# a group that are to be apart have another.
_COUNTING = {'AggregateNumInstancesFilter', 'NumInstancesFilter'}


class Filters:
    """The enabled filters, and the cloud as it is when a question is asked.

    :param context: of an administrator
    :param spec: the request that the question is about; it is told of its server group
    """

    def __init__(self, context: nova_context.RequestContext,
                 spec: objects.RequestSpec) -> None:
        self._spec = spec
        self._enabled = _enabled()
        self._aggregates: dict[str, list[objects.Aggregate]] = {}
        for aggregate in objects.AggregateList.get_all(context):
            for host in aggregate.hosts:
                self._aggregates.setdefault(host, []).append(aggregate)
        group = _group_of(context, spec)
        self._servers = _by_host(context, [
            *(group.members if group else ()), *_hinted(spec, 'same_host'),
            *_hinted(spec, 'different_host')])
        if group:
            group.hosts = [host for host, servers in self._servers.items()
                           if not servers.isdisjoint(group.members)]
        spec.instance_group = group
        self._forced = set(spec.force_hosts or ()) if 'force_hosts' in spec else set()
        self._counting = [each for each in self._enabled if type(each).__name__ in (
            _COUNTING | {_APART} if group and group.policy == 'anti-affinity' else _COUNTING)]

    @property
    def on_one_host(self) -> bool:
        """Whether all servers of the request have to be on the same host, whichever that is."""
        group = self._spec.instance_group
        return (group is not None and group.policy == 'affinity' and not self._forced
                and any(type(each).__name__ == _TOGETHER for each in self._enabled))

    def refusals(self, node: objects.ComputeNode) -> Iterator[tuple[str, str]]:
        """Yield why a host is not for the request: a word on what, and a sentence."""
        asked = self._spec.availability_zone if 'availability_zone' in self._spec else None
        zone = self._zone_of(node.host)
        if asked and asked != zone:
            yield 'zone', (f'The host is in the availability zone {zone}, but {asked} is '
                           'asked for.')
        if self._forced:
            # Nova asks no filter then.
            if node.host not in self._forced:
                yield 'host', f'Only {" or ".join(sorted(self._forced))} is asked for.'
            return
        state = self._state_of(node)
        for each in self._enabled:
            if not self._passes(each, state):
                yield _refusal(each)

    def most(self, node: objects.ComputeNode, wanted: int) -> tuple[int, str]:
        """Return how many servers the filters let a host take, one after the other.

        :param wanted: how many it would take without them
        :returns: the number, and a sentence on why no more; empty if that is not theirs
        """
        if self._forced or not self._counting:
            return wanted, ''
        state, group = self._state_of(node), self._spec.instance_group
        members = list(group.members) if group else []
        try:
            for count in range(wanted):
                for each in self._counting:
                    if not self._passes(each, state):
                        return count, _refusal(each)[1]
                # As Nova's scheduler notes which host it has chosen.
                state.num_instances += 1
                state.instances[str(count)] = None
                if group:
                    group.members.append(str(count))
        finally:
            if group:
                group.members = members
        return wanted, ''

    def _passes(self, each: filters.BaseHostFilter, state: host_manager.HostState) -> bool:
        """Return what a filter says; a filter that fails says nothing."""
        # Some filters choose among what Placement offers; this has no devices.
        state.allocation_candidates = [{'mappings': {}}]
        try:
            return bool(each.host_passes(state, self._spec))
        except Exception:
            # Whatever it is, it is somebody else's, and the question is about a host.
            LOG.warning('The filter %s cannot say anything about host %s.',
                        type(each).__name__, state.host, exc_info=True)
            return True

    def _state_of(self, node: objects.ComputeNode) -> host_manager.HostState:
        state = host_manager.HostState(node.host, node.hypervisor_hostname, None)
        state.update(node, aggregates=self._aggregates.get(node.host, []),
                     inst_dict=dict.fromkeys(self._servers.get(node.host, ())))
        return state

    def _zone_of(self, host: str) -> str:
        zones = [aggregate.metadata['availability_zone']
                 for aggregate in self._aggregates.get(host, [])
                 if 'availability_zone' in aggregate.metadata]
        return zones[0] if zones else CONF.default_availability_zone


def _refusal(each: filters.BaseHostFilter) -> tuple[str, str]:
    name = type(each).__name__
    what, meaning = _MEANINGS.get(name, (FILTER, ''))
    return what, (f"Nova's {name} refuses the host: {meaning}." if meaning
                  else f'The filter {name} refuses the host.')


def _enabled() -> list[filters.BaseHostFilter]:
    wanted = set(CONF.filter_scheduler.enabled_filters) - _TOLD_ELSEWHERE
    return [known() for known in filters.HostFilterHandler().get_matching_classes(
                CONF.filter_scheduler.available_filters) if known.__name__ in wanted]


def _group_of(context: nova_context.RequestContext,
              spec: objects.RequestSpec) -> objects.InstanceGroup | None:
    """Return the server group that a hint names, None if there is none."""
    named = _hinted(spec, 'group')
    try:
        return objects.InstanceGroup.get_by_uuid(context, named[0]) if named else None
    except exception.InstanceGroupNotFound:
        return None


def _hinted(spec: objects.RequestSpec, name: str) -> list[str]:
    """Return the uuids that a hint has."""
    hints = spec.scheduler_hints if 'scheduler_hints' in spec else None
    return list((hints or {}).get(name, []))


def _by_host(context: nova_context.RequestContext,
             servers: Iterable[str]) -> dict[str, set[str]]:
    """Return which of these servers is where, in all cells that answer."""
    wanted = sorted(set(servers))
    if not wanted:
        return {}
    by_cell = nova_context.scatter_gather_skip_cell0(
        context, objects.InstanceList.get_by_filters, {'uuid': wanted, 'deleted': False})
    found: dict[str, set[str]] = {}
    for instances in by_cell.values():
        for instance in instances if isinstance(instances, objects.InstanceList) else ():
            if instance.host:
                found.setdefault(instance.host, set()).add(instance.uuid)
    return found
