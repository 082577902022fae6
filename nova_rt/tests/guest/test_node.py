# SPDX-License-Identifier: Apache-2.0
"""One node with our kernel: what a reservation is worth on it, and survives."""

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.guest import cloud
from stack.nodes import containers

pytestmark = full.only


@pytest.fixture
def node(nodes, alone):
    """The first node, which alone gets servers."""
    return nodes[0]


def test_a_container_gets_on_its_pcpus_what_is_reserved_and_nothing_elsewhere(
        user, flavors, node):
    server = user.boot(flavors(60_000, vcpus=2), 'busybox-hog')
    container = user.container(server.id)
    assert sorted(container.reserved) == [0, 0, 0.3, 0.3]
    user.assert_gets_its_shares(server.id)
    assert [pcpu for pcpu, share in enumerate(container.reserved)
            if share] == list(container.pcpus)


def test_a_real_time_hog_of_the_host_and_a_noisy_neighbour_change_nothing(
        user, flavors, node):
    server = user.boot(flavors(60_000, vcpus=2), 'busybox-hog')
    user.boot(flavors(vcpus=4), 'busybox-noisy')
    user.assert_gets_its_shares(server.id, '/srv/node/hog', 'fifo', '50')


def test_a_deleted_server_leaves_nothing_in_the_kernel(user, flavors, node):
    server = user.boot(flavors(60_000), 'busybox-hog')
    user.delete(server.id)
    driver.until(lambda: cloud.holds_nothing(node), 'all is given back', pause=1)
    assert containers.look(node) == {}


@pytest.mark.parametrize(
    'service', ['libvirtd', 'nova-rt-compute', 'systemd-machined'])
def test_a_restarted_service_loses_nothing(
        user, flavors, node, manage, service):
    server = user.boot(flavors(60_000), 'busybox-hog')
    before = user.container(server.id)
    node.run('systemctl', 'restart', service)
    after = user.container(server.id)
    assert (after.group, after.runtimes_us) == (
        before.group, before.runtimes_us)
    another = user.boot_later(flavors(40_000), 'busybox-hog')
    assert 0.2 in user.container(another.id).reserved
    driver.until(lambda: cloud.agreed(manage, node), 'all say the same', pause=1)


def test_the_doctor_finds_the_dialect_and_nothing_wrong(node, manage):
    rows = manage(node, 'host', 'probe')
    assert rows[0]['found'].startswith('hcbs-multi: ')
    assert not [row for row in rows if row['verdict'] == 'wrong']


def test_after_a_reboot_every_container_runs_real_time_in_its_reservation(
        user, flavors, node, manage):
    servers = [user.boot(flavors(60_000, vcpus=2), 'busybox-hog'),
               user.boot(flavors(40_000), 'busybox-hog')]
    before = [user.container(each.id) for each in servers]
    node.reboot()
    after = [driver.until(lambda each=each: user.running(each.id),
                          'the container runs again', user.patience, pause=2)
             for each in servers]
    # The hog of a container that had no reservation yet would have ended.
    assert all(cloud.FIFO_10 in each.policies for each in after)
    assert [each.runtimes_us for each in after] == [
        each.runtimes_us for each in before]
    user.assert_gets_its_shares(servers[0].id)
    driver.until(lambda: cloud.agreed(manage, node), 'all say the same', pause=1)


def test_a_vcpu_that_is_moved_takes_its_reservation_along(
        user, flavors, node, manage):
    server = user.boot(flavors(60_000, vcpus=2), 'busybox-hog')
    after = user.move_a_vcpu(server.id)
    assert [pcpu for pcpu, share in enumerate(after.reserved) if share] == sorted(after.pcpus)
    user.assert_gets_its_shares(server.id)
    driver.until(lambda: cloud.agreed(manage, node), 'all say the same', pause=1)
    node.run('systemctl', 'restart', 'nova-rt-compute')
    assert user.container(server.id).pcpus == after.pcpus


def test_the_kernel_passes_the_tests_of_the_stand_ins(node):
    done = node.run('python3 -m pytest -q -p no:cacheprovider '
                    '/srv/node/conformance', check=False, patience=300)
    assert done.returncode == 0, done.stdout[-2000:]
    assert ' passed' in done.stdout
