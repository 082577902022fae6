# SPDX-License-Identifier: Apache-2.0
"""Changes what Placement has promised to one server, and only our part."""

from __future__ import annotations

from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import exception
from nova import objects
from nova.scheduler import utils
from nova.scheduler.client import report
from oslo_log import log as logging

from nova_rt import shares

LOG = logging.getLogger(__name__)

# Another process may change the provider, or a consumer, between.
_TRIES = 4


def set_share(context: nova_context.RequestContext,
           client: report.SchedulerReportClient, consumer: str,
           provider: str, share: int) -> bool:
    """Have Placement promise a share of a host to a server or a move.

    :param consumer: uuid of a server or of a migration
    :param share: 0 for none
    :returns: whether Placement did; not if it has no allocation of the
        consumer, or no room
    :raises ConsumerAllocationRetrievalFailed, AllocationUpdateFailed: if
        Placement refuses to tell, or somebody else changed it meanwhile
    """
    payload = client.get_allocs_for_consumer(context, consumer)
    allocations = payload['allocations']
    if not allocations:
        return not share
    for each in allocations.values():
        each.pop('generation', None)
    here = allocations.setdefault(provider, {'resources': {}})['resources']
    if share:
        here[shares.RESOURCE_CLASS] = share
    else:
        here.pop(shares.RESOURCE_CLASS, None)
    if not here:
        del allocations[provider]
    return bool(client.put_allocations(context, consumer, payload))


def create(context: nova_context.RequestContext,
          client: report.SchedulerReportClient, consumer: str, provider: str,
          server: objects.Instance, flavor: objects.Flavor) -> bool:
    """Have Placement promise all that a flavor asks for of a host.

    As ``nova-manage placement heal_allocations`` does for a server, without
    what ports ask for.

    :param consumer: uuid of the server or of its migration
    :returns: whether Placement did; not if the consumer has an allocation
    :raises ConsumerAllocationRetrievalFailed, AllocationUpdateFailed: if
        Placement refuses
    """
    payload = client.get_allocs_for_consumer(context, consumer)
    if payload['allocations']:
        return False
    resources = utils.resources_from_flavor(server, flavor)
    return bool(client.put_allocations(context, consumer, {
        'allocations': {provider: {'resources': resources}},
        'project_id': server.project_id, 'user_id': server.user_id,
        'consumer_generation': None}))


def share_out(context: nova_context.RequestContext,
              client: report.SchedulerReportClient, provider: str,
              server: str, share: int, move: str, kept: int) -> None:
    """Have Placement promise a server all that it and its move were promised.

    In one step, so that nobody else is promised anything of it between. A server
    that has no allocation is being deleted: only its move's is taken away.

    :param share: the server's from now on
    :param kept: what the move keeps of the host's share, and nothing else
    :raises AllocationUpdateFailed, ConsumerAllocationRetrievalFailed: if
        Placement refuses
    :raises PlacementAPIConnectFailure: if it does not answer
    """
    for _ in range(_TRIES):
        old = {consumer: client.get_allocs_for_consumer(context, consumer)
               for consumer in (server, move)}
        new = {server: {}, move: {}}
        if old[server]['allocations']:
            new[server] = _together(old.values())
            new[server].setdefault(provider, {})[shares.RESOURCE_CLASS] = share
            if kept:
                new[move] = {provider: {shares.RESOURCE_CLASS: kept}}
        answer = _post(context, client, old, new)
        if answer is None or answer.status_code == 204:
            return
        if 'placement.concurrent_update' not in answer.text:
            break
    raise exception.AllocationUpdateFailed(
        consumer_uuid=server, error=answer.text)


def _together(payloads):
    """Return, by provider, the most that any of the consumers has."""
    most = {}
    for payload in payloads:
        for provider, what in payload['allocations'].items():
            there = most.setdefault(provider, {})
            for name, amount in what['resources'].items():
                there[name] = max(amount, there.get(name, 0))
    return most


def _post(context, client, old, new):
    """Return Placement's answer, None if there is nothing to change.

    :param old: what each consumer has, as Placement tells it
    :param new: what it is to have, by provider
    """
    owners = [each for each in old.values() if each['allocations']]
    payload = {
        consumer: {
            'allocations': {where: {'resources': what}
                            for where, what in allocations.items()},
            'project_id': owners[0]['project_id'],
            'user_id': owners[0]['user_id'],
            'consumer_generation': old[consumer].get('consumer_generation')}
        for consumer, allocations in new.items()
        if allocations or old[consumer]['allocations']}
    if not payload:
        return None
    try:
        return client.post('/allocations', payload,
                           version=report.CONSUMER_GENERATION_VERSION,
                           global_request_id=context.global_id)
    except ks_exc.ClientException:
        raise exception.PlacementAPIConnectFailure() from None


def try_to_set_share(context: nova_context.RequestContext,
                  client: report.SchedulerReportClient, consumer: str,
                  provider: str, share: int) -> None:
    """Change a promise, or log that an audit will have to."""
    try:
        changed = set_share(context, client, consumer, provider, share)
    except (exception.NovaException, report.Retry,
            ks_exc.ClientException) as why:
        LOG.warning('The promise to %s could not be corrected: %s', consumer,
                    why)
        return
    if not changed:
        LOG.warning('Placement did not correct the promise to %s; see '
                    'nova-rt-manage audit.', consumer)


def left(client: report.SchedulerReportClient,
         context: nova_context.RequestContext,
         provider: str) -> dict[str, int]:
    """Return what Placement may still promise of a host.

    Nothing of the share without the trait, which is asked for too.
    """
    def ask(what: str) -> dict:
        answer = client.get(f'/resource_providers/{provider}/{what}',
                            version='1.9', global_request_id=context.global_id)
        return answer.json() if answer else {}
    used = ask('usages').get('usages', {})
    left = {
        name: int((each['total'] - each['reserved'])
                  * each['allocation_ratio']) - used.get(name, 0)
        for name, each in ask('inventories').get('inventories', {}).items()}
    if shares.TRAIT not in ask('traits').get('traits', ()):
        left.pop(shares.RESOURCE_CLASS, None)
    return left
