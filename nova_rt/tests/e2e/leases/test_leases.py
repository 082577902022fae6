# SPDX-License-Identifier: Apache-2.0
"""Blazar leases what a flavor reserves, by its own services and its filter in Nova."""

import datetime

import openstack.exceptions
import pytest

from nova_rt import bandwidth
from nova_rt import shares
from nova_rt.tests.e2e import driver

RUNTIME_US, PERIOD_US = 100_000, 200_000
SHARE = bandwidth.to_bandwidth(RUNTIME_US, PERIOD_US)


@pytest.fixture
def flavor(operator, flavors):
    """A flavor that tells its share to those who read it."""
    flavor = flavors(RUNTIME_US, PERIOD_US)
    operator.compute.create_flavor_extra_specs(flavor, {shares.EXTRA_SPEC: str(SHARE)})
    return flavor


@pytest.fixture
def too_many(operator):
    """One server more than the host's share is enough for, but not its vCPUs."""
    (host,) = operator.compute.hypervisors()
    (provider,) = operator.placement.resource_providers(name=host.name)
    inventory = operator.placement.get(
        f'/resource_providers/{provider.id}/inventories').json()['inventories']
    share = inventory[shares.RESOURCE_CLASS]
    return (share['total'] - share['reserved']) // SHARE + 1


def tomorrow():
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)


def allocated(operator, server):
    """Return the share that Placement has allocated to a server."""
    found = operator.placement.get(f'/allocations/{server}').json()['allocations']
    return sum(each['resources'].get(shares.RESOURCE_CLASS, 0) for each in found.values())


def refused(user, flavor):
    """Whether a server of a flavor finds no host."""
    server = user.ask(flavor)
    user.settled(server.id, 'ERROR')
    user.delete(server.id)
    return True


def test_a_lease_takes_no_more_than_the_share_of_its_host(blazar, flavor, flavors, too_many):
    without_share = blazar.lease(flavors(vcpus=1), too_many, tomorrow())
    blazar.becomes(without_share, 'ACTIVE')
    blazar.ask('DELETE', f'/leases/{without_share["id"]}')
    with pytest.raises(openstack.exceptions.HttpException, match='Not enough hosts'):
        blazar.lease(flavor, too_many, tomorrow())


def test_two_leases_have_the_sum_of_the_hosts_share_together(blazar, flavor, too_many):
    # By the sum: not all of these would find a pCPU with so much left.
    blazar.becomes(blazar.lease(flavor, too_many - 1, tomorrow()), 'ACTIVE')
    with pytest.raises(openstack.exceptions.HttpException, match='Not enough hosts'):
        blazar.lease(flavor, 1, tomorrow())


def test_a_leased_server_has_its_reservation_until_the_lease_ends(
        blazar, flavor, flavors, user, operator, manage, kernel):
    assert refused(user, flavor)
    lease = blazar.lease(flavor, 1, tomorrow())
    blazar.becomes(lease, 'ACTIVE')
    leased = lease['reservations'][0]['id']

    server = user.boot(leased, 'busybox-hog')
    assert allocated(operator, server.id) == SHARE
    container = user.container(server.id)
    assert set(container.shares.values()) == {0.5}
    driver.assert_gets_its_shares(container)
    driver.until(lambda: driver.agreed(manage), 'all say the same')
    # The lease is for one, and the host for nobody else.
    assert refused(user, leased)
    assert refused(user, flavor)
    assert refused(user, flavors(vcpus=1))

    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=1)
    blazar.ask('PUT', f'/leases/{lease["id"]}', end_date=soon.strftime('%Y-%m-%d %H:%M'))
    blazar.becomes(lease, 'TERMINATED')
    driver.until(lambda: user.cloud.compute.find_server(server.id) is None, 'it is deleted')
    driver.until(lambda: driver.nothing_held(kernel), 'the kernel has its bandwidth again')
    assert allocated(operator, server.id) == 0
    driver.until(lambda: driver.agreed(manage), 'all say the same')
    with pytest.raises(openstack.exceptions.NotFoundException):
        operator.compute.get_flavor(leased)
