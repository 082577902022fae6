# SPDX-License-Identifier: Apache-2.0
"""Keystone's limit of a project's share, with a real Keystone, Placement and database."""

import collections
import concurrent.futures
import contextlib

import openstack.exceptions
import pytest

from nova_rt import bandwidth
from nova_rt.limits import keystone as limits
from nova_rt.testing import full
from stack.services import keystone
from stack.services import nova

CLIENTS = 16
PERIOD_US = 200_000
RUNTIME_US = 2_000
SHARE = bandwidth.to_bandwidth(RUNTIME_US, PERIOD_US)
# How many servers the limit takes, and how many are asked for at once.
FIT, REQUESTS = (50, 200) if full.WANTED else (6, 24)


class LimitedApi(nova.NovaApi):
    """nova-api in two processes that take quotas from Keystone."""

    processes = 2

    def environment(self):
        """Return what differs, as oslo.config reads it."""
        options = {**keystone.credentials(self.site, 'nova'),
                   'endpoint_service_type': 'compute',
                   'endpoint_region_name': keystone.REGION}
        return {**super().environment(),
                'OS_QUOTA__DRIVER': 'nova.quota.UnifiedLimitsDriver',
                **{f'OS_OSLO_LIMIT__{name.upper()}': str(value)
                   for name, value in options.items()}}


@pytest.fixture
def limited(stack, operator, user):
    """Limits the share of the user's project; yields what changes the limit."""
    identity = operator.identity
    where = {'service_id': identity.find_service('nova').id, 'region_id': keystone.REGION}
    registered = [
        identity.create_registered_limit(resource_name=name, default_limit=-1, **where)
        for name in ('servers', 'class:VCPU', 'class:MEMORY_MB', 'class:DISK_GB',
                     limits.RESOURCE)]
    of_project = identity.create_limit(
        resource_name=limits.RESOURCE, resource_limit=FIT * SHARE,
        project_id=user.cloud.current_project_id, **where)
    stack.site.processes.stop(['nova-api'])
    try:
        LimitedApi(stack.site).start()
        yield lambda most: identity.update_limit(of_project, resource_limit=most)
    finally:
        stack.restart('nova-api')
        identity.delete_limit(of_project)
        for each in registered:
            identity.delete_registered_limit(each)


@pytest.fixture
def many_vcpus(operator):
    """Lets Placement allocate as many vCPUs as the test asks for."""
    (provider,) = operator.placement.resource_providers()
    path = f'/resource_providers/{provider.id}/inventories/VCPU'
    before = operator.placement.get(path).json()

    def set_ratio(ratio):
        now = operator.placement.get(path).json()
        openstack.exceptions.raise_from_response(operator.placement.put(
            path, json={**now, 'allocation_ratio': ratio}))
    set_ratio(float(FIT))
    yield
    set_ratio(before['allocation_ratio'])


def test_of_many_requests_at_once_as_many_pass_as_the_limit_takes(
        limited, many_vcpus, user, flavors):
    flavor = flavors(RUNTIME_US, PERIOD_US)
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(clients.map(lambda _: ask(user, flavor), range(REQUESTS)))
    print(collections.Counter('passed' if server else 'refused' for server in answers))
    passed = [server for server in answers if server]
    assert len(passed) == FIT
    for server in passed:
        user.settled(server, 'ACTIVE')

    user.delete(passed[0])
    assert ask(user, flavor)
    assert ask(user, flavor) is None


def test_a_hint_counts_and_the_sentence_says_how_much(limited, user, flavors):
    flavor = flavors(RUNTIME_US, PERIOD_US)
    with pytest.raises(openstack.exceptions.ForbiddenException) as refused:
        user.ask(flavor, cpu__rt_runtime_us=str(RUNTIME_US * (FIT + 1)))
    assert f'{FIT + 1}% more is over its limit of class:CUSTOM_RT_SHARE' in str(refused.value)
    # Keystone leaves a limit as it is that is to become 0.
    limited(1)
    assert ask(user, flavor) is None
    limited(-1)
    user.boot(flavor)


def ask(user, flavor):
    """Return the id of a server that was asked for, None if it is over the limit."""
    with contextlib.suppress(openstack.exceptions.ForbiddenException):
        return user.ask(flavor).id
    return None
