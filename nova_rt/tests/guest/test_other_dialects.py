# SPDX-License-Identifier: Apache-2.0
"""One node whose reservations go through the kernel's other interfaces.

What the kernel then has is read through the interface that nova-rt-compute would have used.
"""

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.guest import cloud

pytestmark = full.only

# The node's nova.conf is on a disk that it cannot write to.
OPTIONS = '/etc/dialect.conf'
MORE = ('--config-file', OPTIONS)
WITH_OPTIONS = f"""\
[Service]
ExecStart=
ExecStart=nova-rt-compute --config-file /etc/nova/nova.conf --config-file {OPTIONS}
"""
DROP_IN = '/etc/systemd/system/nova-rt-compute.service.d/dialect.conf'
# A third of what a pCPU has for reservations.
RUNTIME_US = 60_000


def start_with(node, options):
    """Restart nova-rt-compute with more options."""
    node.run(f'cat > {OPTIONS}', text=options)
    node.run(f'cat > {DROP_IN}', text=WITH_OPTIONS)
    node.run('systemctl daemon-reload && systemctl restart nova-rt-compute')


@pytest.fixture(scope='module', params=['hcbs-list', 'hcbs-max'])
def dialect(request, nodes):
    """Which the first node speaks."""
    start_with(nodes[0], f'[rt]\ndialect = {request.param}\n')
    yield request.param
    start_with(nodes[0], '')


@pytest.fixture
def node(dialect, nodes, alone):
    """The first node, which alone gets servers."""
    return nodes[0]


def test_the_doctor_finds_the_dialect_and_nothing_wrong(node, manage, dialect):
    rows = manage(node, *MORE, 'host', 'probe')
    assert rows[0]['found'].startswith(f'{dialect}: ')
    assert not [row for row in rows if row['verdict'] == 'wrong']


def test_a_container_gets_what_is_reserved_beside_a_hog_and_a_noisy_neighbour(
        user, flavors, node, dialect):
    server = user.boot_later(flavors(RUNTIME_US, vcpus=2), 'busybox-hog')
    user.boot(flavors(vcpus=4), 'busybox-noisy')
    container = user.container(server.id)
    assert len(container.pcpus) == 2
    assert container.reserved == tuple(
        0.3 if pcpu in container.pcpus else 0 for pcpu in range(4))
    user.assert_gets_its_shares(server.id, '/srv/node/hog', 'fifo', '50')


def test_a_reservation_occupies_the_pcpus_of_its_server_and_no_other(
        user, flavors, node, manage, dialect):
    # More than a pCPU has, of which each gets one or none.
    servers = [user.boot_later(flavors(120_000), 'busybox-hog') for _ in range(4)]
    assert sorted(user.container(server.id).pcpus for server in servers) == [
        (0,), (1,), (2,), (3,)]
    fifth = user.rested(user.ask(flavors(120_000), 'busybox-hog').id)
    assert 'No valid host' in fifth.fault['message']
    user.assert_gets_its_shares(servers[-1].id)
    driver.until(lambda: cloud.agreed(manage, node, *MORE), 'all say the same', pause=1)


def test_a_vcpu_that_is_moved_takes_its_reservation_along(
        user, flavors, node, manage, dialect):
    server = user.boot_later(flavors(RUNTIME_US, vcpus=2), 'busybox-hog')
    after = user.move_a_vcpu(server.id)
    assert after.reserved == tuple(0.3 if pcpu in after.pcpus else 0 for pcpu in range(4))
    user.assert_gets_its_shares(server.id)
    driver.until(lambda: cloud.agreed(manage, node, *MORE), 'all say the same', pause=1)


def test_restarts_lose_nothing_and_a_deleted_server_leaves_nothing(
        user, flavors, node, manage, dialect):
    server = user.boot_later(flavors(RUNTIME_US, vcpus=2), 'busybox-hog')
    before = user.container(server.id)
    for service in ('libvirtd', 'nova-rt-compute'):
        node.run('systemctl', 'restart', service)
    after = user.container(server.id)
    assert (after.group, after.runtimes_us) == (before.group, before.runtimes_us)
    another = user.boot_later(flavors(40_000), 'busybox-hog')
    assert 0.2 in user.container(another.id).reserved
    driver.until(lambda: cloud.agreed(manage, node, *MORE), 'all say the same', pause=1)
    for each in (server, another):
        user.delete(each.id)
    driver.until(lambda: cloud.holds_nothing(node), 'all is given back', pause=1)


def test_after_a_reboot_a_container_runs_real_time_in_its_reservation(
        user, flavors, node, manage, dialect):
    server = user.boot_later(flavors(RUNTIME_US, vcpus=2), 'busybox-hog')
    before = user.container(server.id)
    node.reboot()
    after = driver.until(lambda: user.running(server.id), 'the container runs again',
                         user.patience, pause=2)
    assert after.runtimes_us == before.runtimes_us
    user.assert_gets_its_shares(server.id)
    driver.until(lambda: cloud.agreed(manage, node, *MORE), 'all say the same', pause=1)
