# SPDX-License-Identifier: Apache-2.0
"""What availability zones, and Nova's filters of aggregates, say of a host."""

from __future__ import annotations

from collections.abc import Iterator

from nova import context as nova_context
from nova import objects
from nova.scheduler import filters
from nova.scheduler import host_manager
from oslo_config import cfg

CONF = cfg.CONF

# What a refusal means, by filter. Others look at more than flavor, image and project.
_MEANINGS = {
    'AggregateInstanceExtraSpecsFilter':
        "its aggregates lack what the flavor's extra specs ask of them",
    'AggregateImagePropertiesIsolation':
        "its aggregates and the image's properties differ",
    'AggregateMultiTenancyIsolation': 'its aggregates are for other projects',
    'AggregateTypeAffinityFilter': 'its aggregates are for other flavors',
}


class Zones:
    """Aggregates, as they are when a question is asked.

    :param spec: the request that the question is about
    """

    def __init__(self, context: nova_context.RequestContext,
                 spec: objects.RequestSpec) -> None:
        self._spec = spec
        self._filters = _enabled_filters()
        self._aggregates: dict[str, list[objects.Aggregate]] = {}
        for aggregate in objects.AggregateList.get_all(context):
            for host in aggregate.hosts:
                self._aggregates.setdefault(host, []).append(aggregate)

    def refusals(self, host: str) -> Iterator[tuple[str, str]]:
        """Yield why a host is not for the request: a word on what, and a sentence."""
        asked = self._spec.availability_zone if 'availability_zone' in self._spec else None
        zone = self._zone_of(host)
        if asked and asked != zone:
            yield 'zone', (f'The host is in the availability zone {zone}, but {asked} is '
                           'asked for.')
        state = host_manager.HostState(host, host, None)
        state.aggregates = self._aggregates.get(host, [])
        for each in self._filters:
            if not each.host_passes(state, self._spec):
                name = type(each).__name__
                yield 'aggregate', f"Nova's {name} refuses the host: {_MEANINGS[name]}."

    def _zone_of(self, host: str) -> str:
        zones = [aggregate.metadata['availability_zone']
                 for aggregate in self._aggregates.get(host, [])
                 if 'availability_zone' in aggregate.metadata]
        return zones[0] if zones else CONF.default_availability_zone


def _enabled_filters() -> list[filters.BaseHostFilter]:
    return [known() for known in filters.HostFilterHandler().get_matching_classes(
                CONF.filter_scheduler.available_filters)
            if known.__name__ in _MEANINGS
            and known.__name__ in CONF.filter_scheduler.enabled_filters]
