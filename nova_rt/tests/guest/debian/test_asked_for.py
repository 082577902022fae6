# SPDX-License-Identifier: Apache-2.0
"""A flavor, a hint, a Heat template and a VNF descriptor on Debian's own kernel.

The clock of an emulated pCPU is this machine's, so shares are approximate here;
``test_machines_in_virtual_time.py`` measures exactly.
"""

import pytest

from nova_rt.tests.e2e import driver
from stack.nodes import machines
from tacker_rt.tests.e2e import client
from tacker_rt.tests.e2e import heat
from tacker_rt.tests.e2e import vnf

WINDOW_S = 10.0
HOG = ('/srv/node/hog', 'fifo', '50')


@pytest.fixture
def command(stack):
    """An ordinary user's ``openstack`` command."""
    return client.Client(stack.environment('demo'))


@pytest.fixture
def flavor(stack):
    """That of the templates and packages."""
    with vnf.flavor(client.Client(stack.environment('admin'))) as name:
        yield name


def gets(user, server, shares):
    """Hold that the vCPUs of a server get so much, also beside a hog on every pCPU."""
    machine = user.machine(server)
    assert sorted(machine.shares.values()) == shares
    for beside in ((), HOG):
        driver.assert_get(machines.measuring(user.node, *beside), machine, WINDOW_S,
                          driver.ONE_POINT)


def test_the_kernel_is_debians_for_clouds(user):
    assert user.node.run('uname', '-r').stdout.strip().endswith('-cloud-amd64')


def test_a_flavor_is_what_the_vcpus_get(user, flavors):
    gets(user, user.boot(flavors(40_000, vcpus=2)).id, [0.2, 0.2])


def test_a_hint_is_what_the_vcpu_gets(user, flavors):
    server = user.boot(flavors(40_000), cpu__rt_runtime_us='60000')
    gets(user, server.id, [0.3])


def test_hints_of_a_template_are_what_the_vcpus_get(user, command, flavor):
    owner = heat.Owner(command)
    try:
        gets(user, owner.create(heat.HINTS, image=user.image, flavor=flavor), [0.3, 0.3])
    finally:
        owner.delete_all()


def test_a_vdu_is_what_the_vcpus_get(user, command, flavor, tmp_path):
    operator = vnf.Operator(command, '2', tmp_path)
    try:
        made = operator.create(operator.onboard(
            'standard', {'name: busybox': f'name: {user.image}'}))
        made.instantiate(**vnf.STANDARD)
        server, = made.servers('VDU_RT')
        gets(user, server, [0.3, 0.3])
        made.terminate()
    finally:
        operator.clean_up()


def test_the_audit_finds_nothing(user, flavors, manage):
    user.boot(flavors(40_000))
    assert manage(user.node, 'audit') == []
