# SPDX-License-Identifier: Apache-2.0
"""A Heat template and a VNF descriptor end as virtual machines with reservations."""

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e.cloud_of_machines import test_shares
from stack import vcpus
from tacker_rt.tests.e2e import client
from tacker_rt.tests.e2e import heat
from tacker_rt.tests.e2e import vnf


@pytest.fixture
def command(stack):
    """An ordinary user's ``openstack`` command."""
    return client.Client(stack.environment('demo'))


@pytest.fixture
def flavor(stack):
    """That of the templates and packages."""
    with vnf.flavor(client.Client(stack.environment('admin'))) as name:
        yield name


def gets_its_shares(user, server, share):
    machine = user.machine(server)
    assert list(machine.shares.values()) == [share, share]
    driver.assert_get(
        vcpus.measure, machine, test_shares.WINDOW_S, test_shares.TOLERANCE)


def test_hints_of_a_template_are_what_the_vcpus_get(user, command, flavor):
    owner = heat.Owner(command)
    try:
        gets_its_shares(user, owner.create(heat.HINTS, image=user.image, flavor=flavor), 0.3)
    finally:
        owner.delete_all()


@full.only
def test_a_vdu_is_what_the_vcpus_get(user, command, flavor, tmp_path):
    """In every state of its VNF."""
    operator = vnf.Operator(command, '2', tmp_path)
    try:
        made = operator.create(operator.onboard(
            'standard', {'name: busybox': f'name: {user.image}'}))
        made.instantiate(**vnf.STANDARD)
        ill, = made.servers('VDU_RT')
        gets_its_shares(user, ill, 0.3)
        assert user.shares(made.servers('VDU_PLAIN')[0]) == {0.0}
        made.heal(made.vnfcs('VDU_RT')[0])
        first, = made.servers('VDU_RT')
        assert first != ill
        assert user.shares(first) == {0.3}
        made.scale('SCALE_OUT')
        for server in made.servers('VDU_RT'):
            assert user.shares(server) == {0.3}
        made.scale('SCALE_IN')
        assert made.servers('VDU_RT') == [first]
        gets_its_shares(user, first, 0.3)
        made.terminate()
    finally:
        operator.clean_up()
