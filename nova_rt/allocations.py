# SPDX-License-Identifier: Apache-2.0
"""The one client of Placement: a host's share, and who has it allocated.

A consumer is a server, or the migration that holds the old side of a move. Only
the share is ever changed in an allocation; all else in it is Nova's.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import exception
from nova import objects
from nova.scheduler import utils
from nova.scheduler.client import report
from oslo_log import log as logging
from requests import Response

from nova_rt import shares
from nova_rt.units import Units

LOG = logging.getLogger(__name__)

# Another process may change the provider, or a consumer, between.
_TRIES = 4
_READ_VERSION = '1.9'
_CANDIDATES_VERSION = '1.36'
# Placement's answer to a question for a trait that it does not know.
_UNKNOWN_TRAIT = 400
_UNKNOWN_UNITS: Mapping[str, Units] = {}

# What Placement returns for a consumer, and the resources in it by provider.
Payload = dict[str, Any]
Resources = dict[str, dict[str, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """What Placement knows of a host.

    :ivar left: by resource class, what may still be allocated; without the share if
        the host lacks the trait that is required with it
    :ivar units: by resource class, what may be allocated at once; empty if that was not
        asked for
    """

    left: Mapping[str, int]
    traits: frozenset[str]
    units: Mapping[str, Units] = dataclasses.field(default_factory=dict)


class PlacementClient:
    """nova-rt's part of the conversation with Placement.

    :param context: of the request
    :param client: Nova's own client; the process's one by default

    Each method raises keystoneauth1's ClientException if Placement does not
    answer, unless it says otherwise.
    """

    def __init__(self, context: nova_context.RequestContext,
                 client: report.SchedulerReportClient | None = None) -> None:
        self._context = context
        self._client = client or report.report_client_singleton()

    def left(self, provider: str) -> Mapping[str, int]:
        """Return what Placement may still allocate of a host; see :class:`Host`.

        :param provider: the uuid of the host's resource provider
        """
        return self.host(provider).left

    def host(self, provider: str) -> Host:
        """Return what Placement knows of a host.

        :param provider: the uuid of the host's resource provider
        """
        used = self._of_provider(provider, 'usages').get('usages', {})
        inventories = self._of_provider(
            provider, 'inventories').get('inventories', {})
        return _host({
            name: int((inventory['total'] - inventory['reserved'])
                      * inventory['allocation_ratio']) - used.get(name, 0)
            for name, inventory in inventories.items()},
            self._of_provider(provider, 'traits').get('traits', ()),
            {name: Units(inventory['min_unit'], inventory['max_unit'], inventory['step_size'])
             for name, inventory in inventories.items()})

    def hosts_with_vcpus(self) -> dict[str, Host]:
        """Return all hosts that have a vCPU left, by provider, with one question.

        For others, and for units, :meth:`host` has to be asked one by one.
        """
        response = self._get('/allocation_candidates?resources=VCPU:1', _CANDIDATES_VERSION)
        summaries = response.json()['provider_summaries'] if response else {}
        return {provider: _host(
            {name: resource['capacity'] - resource['used']
             for name, resource in summary['resources'].items()}, summary['traits'])
            for provider, summary in summaries.items()}

    def that_may_give(self, needs: Mapping[str, int]) -> frozenset[str] | None:
        """Return the providers, by uuid, from whose trees Placement would allocate all of this.

        One question for all of them. Besides what is left, units count: see :class:`Host`.

        :param needs: amounts by resource class, not all of them 0
        :returns: None if Placement does not know what is asked for
        """
        resources = ','.join(f'{name}:{amount}' for name, amount in sorted(needs.items())
                             if amount)
        response = self._get(
            f'/allocation_candidates?resources={resources}', _CANDIDATES_VERSION)
        return frozenset(response.json()['provider_summaries']) if response else None

    def capacity(self, provider: str) -> int | None:
        """Return the share that a host offers, None without an inventory."""
        inventory = self._of_provider(
            provider, f'inventories/{shares.RESOURCE_CLASS}')
        if not inventory:
            return None
        capacity: int = inventory['total'] - inventory['reserved']
        return capacity

    def share_of_project(self, project: str) -> int:
        """Return the share allocated to servers and migrations of a project.

        :raises UsagesRetrievalFailed: if Placement refuses
        """
        usages: Mapping[str, int] = self._client.get_usages_counts_for_limits(
            self._context, project)
        return usages.get(shares.RESOURCE_CLASS, 0)

    def share_of(self, consumer: str) -> int:
        """Return the share allocated to a consumer.

        :raises ConsumerAllocationRetrievalFailed: if Placement refuses
        """
        payload = self._client.get_allocs_for_consumer(self._context, consumer)
        return sum(allocation['resources'].get(shares.RESOURCE_CLASS, 0)
                   for allocation in payload['allocations'].values())

    def shares_on(self, provider: str) -> dict[str, int]:
        """Return the share allocated of a host, by consumer.

        :raises ResourceProviderAllocationRetrievalFailed: if Placement refuses
        """
        allocations = self._client.get_allocations_for_resource_provider(
            self._context, provider).allocations
        return {
            consumer: allocation['resources'][shares.RESOURCE_CLASS]
            for consumer, allocation in allocations.items()
            if shares.RESOURCE_CLASS in allocation['resources']}

    def try_shares_on(self, provider: str) -> dict[str, int] | None:
        """Return what :meth:`shares_on` does; None, and log it, if Placement does not say."""
        try:
            return self.shares_on(provider)
        except (exception.NovaException, ks_exc.ClientException) as exc:
            LOG.warning('What is allocated of %s is not known: %s', provider, exc)
            return None

    def has_candidate(self, share: int, traits: Iterable[str] = (shares.TRAIT,),
                      provider: str | None = None) -> bool | None:
        """Return whether any host has this share left; None: no answer.

        :param traits: that the host must have
        :param provider: the uuid of the only host's resource provider
        """
        response = self._get(
            f'/allocation_candidates?resources={shares.RESOURCE_CLASS}:'
            f'{share}&required={",".join(sorted(traits))}&limit=1'
            + (f'&in_tree={provider}' if provider else ''), _CANDIDATES_VERSION)
        if response.status_code == _UNKNOWN_TRAIT:
            # No host has ever had it.
            return False
        return bool(response.json()['allocation_requests']) if response else None

    def set_share(self, consumer: str, provider: str, share: int) -> bool:
        """Set the share in a consumer's allocation of a host.

        :param share: 0 for none
        :returns: whether Placement did; not if the consumer has no allocation
            or there is no room
        :raises ConsumerAllocationRetrievalFailed, AllocationUpdateFailed: if
            Placement refuses, or another process changed it meanwhile
        """
        payload = self._client.get_allocs_for_consumer(self._context, consumer)
        allocations = payload['allocations']
        if not allocations:
            return not share
        for allocation in allocations.values():
            allocation.pop('generation', None)
        here = allocations.setdefault(provider, {'resources': {}})['resources']
        if share:
            here[shares.RESOURCE_CLASS] = share
        else:
            here.pop(shares.RESOURCE_CLASS, None)
        if not here:
            del allocations[provider]
        return bool(self._client.put_allocations(
            self._context, consumer, payload))

    def try_to_set_share(self, consumer: str, provider: str,
                         share: int) -> bool:
        """Set the share, or log that it was not; return whether it was."""
        return self._try(consumer, lambda: self.set_share(consumer, provider, share))

    def try_to_allocate(self, server: objects.Instance, provider: str, share: int) -> bool:
        """Set a server's share, with all else that it asks for if it has nothing allocated there.

        :returns: whether that was done; if not, it is logged
        """
        return self._try(server.uuid, lambda: (
            self.create(server.uuid, provider, server, server.flavor)
            or self.set_share(server.uuid, provider, share)))

    def try_to_give_back(self, consumer: str, provider: str) -> bool:
        """Give back all that a consumer has of a host, or log that it was not; return whether."""
        return self._try(consumer, lambda: bool(
            self._client.remove_provider_tree_from_instance_allocation(
                self._context, consumer, provider)))

    def _try(self, consumer: str, change: Callable[[], bool]) -> bool:
        try:
            done = change()
        except (exception.NovaException, report.Retry,
                ks_exc.ClientException) as exc:
            LOG.warning('The allocation of %s could not be corrected: %s',
                        consumer, exc)
            return False
        if not done:
            LOG.warning('Placement did not correct the allocation of %s; see '
                        'nova-rt-manage audit.', consumer)
        return done

    def create(self, consumer: str, provider: str, server: objects.Instance,
               flavor: objects.Flavor) -> bool:
        """Allocate all that a flavor asks for of a host, for a consumer without any of it.

        This does for a server what ``nova-manage placement heal_allocations``
        does, without the resources of ports.

        :returns: whether Placement did; not if the consumer has an allocation there
        :raises ConsumerAllocationRetrievalFailed, AllocationUpdateFailed: if
            Placement refuses
        """
        payload = self._client.get_allocs_for_consumer(self._context, consumer)
        if provider in payload['allocations']:
            return False
        for allocation in payload['allocations'].values():
            allocation.pop('generation', None)
        resources = utils.resources_from_flavor(server, flavor)
        return bool(self._client.put_allocations(self._context, consumer, {
            'allocations': {**payload['allocations'], provider: {'resources': resources}},
            'project_id': server.project_id, 'user_id': server.user_id,
            'consumer_generation': payload.get('consumer_generation')}))

    def share_out(self, provider: str, server: str, share: int,
                  move: str, kept: int) -> None:
        """Divide the allocations of a server and its move between the two.

        In one step, so that nothing of it is allocated to anybody else
        meanwhile: see :func:`shared_out`.

        :raises AllocationUpdateFailed, ConsumerAllocationRetrievalFailed: if
            Placement refuses
        :raises PlacementAPIConnectFailure: if it does not answer
        """
        refusal = ''
        for _ in range(_TRIES):
            old = {consumer: self._client.get_allocs_for_consumer(
                       self._context, consumer)
                   for consumer in (server, move)}
            new = dict(zip((server, move), shared_out(
                old[server], old[move], provider, share, kept), strict=True))
            response = self._replace(old, new)
            if response is None or response.status_code == 204:
                return
            refusal = response.text
            if 'placement.concurrent_update' not in refusal:
                break
        raise exception.AllocationUpdateFailed(consumer_uuid=server, error=refusal)

    def _replace(self, old: Mapping[str, Payload],
                 new: Mapping[str, Resources]) -> Response | None:
        """Return Placement's answer, None if there is nothing to change."""
        owners = [payload for payload in old.values()
                  if payload['allocations']]
        payload = {
            consumer: {
                'allocations': {place: {'resources': resources}
                                for place, resources in allocations.items()},
                'project_id': owners[0]['project_id'],
                'user_id': owners[0]['user_id'],
                'consumer_generation': old[consumer].get('consumer_generation')}
            for consumer, allocations in new.items()
            if allocations or old[consumer]['allocations']}
        if not payload:
            return None
        try:
            return self._client.post(
                '/allocations', payload,
                version=report.CONSUMER_GENERATION_VERSION,
                global_request_id=self._context.global_id)
        except ks_exc.ClientException:
            raise exception.PlacementAPIConnectFailure() from None

    def _of_provider(self, provider: str, what: str) -> Any:
        response = self._get(
            f'/resource_providers/{provider}/{what}', _READ_VERSION)
        return response.json() if response else {}

    def _get(self, url: str, version: str) -> Response:
        return self._client.get(
            url, version=version, global_request_id=self._context.global_id)


def _host(left: dict[str, int], traits: Iterable[str],
          units: Mapping[str, Units] = _UNKNOWN_UNITS) -> Host:
    if shares.TRAIT not in traits:
        left.pop(shares.RESOURCE_CLASS, None)
    return Host(left, frozenset(traits), units)


def shared_out(server: Payload, move: Payload, provider: str, share: int,
               kept: int) -> tuple[Resources, Resources]:
    """Return what a server and its move are to have allocated.

    The server gets the most that either had of everything, and its new share;
    the move keeps a part of the share and nothing else. A server that has no
    allocation is being deleted: then both have nothing.

    :param server, move: what Placement returned for each
    :param share: the server's from now on
    :param kept: the part of the host's share that the move keeps
    """
    if not server['allocations']:
        return {}, {}
    together = _most_of_each((server, move))
    together.setdefault(provider, {})[shares.RESOURCE_CLASS] = share
    return together, ({provider: {shares.RESOURCE_CLASS: kept}} if kept else {})


def _most_of_each(payloads: Iterable[Payload]) -> Resources:
    most: Resources = {}
    for payload in payloads:
        for provider, allocation in payload['allocations'].items():
            there = most.setdefault(provider, {})
            for name, amount in allocation['resources'].items():
                there[name] = max(amount, there.get(name, 0))
    return most
