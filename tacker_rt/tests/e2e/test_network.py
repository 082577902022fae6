# SPDX-License-Identifier: Apache-2.0
"""The containers of a VNF on the network."""

import json
import pathlib
import subprocess

import pytest

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import network
from stack import devices
from stack.services import openvswitch
from tacker_rt.tests.e2e.vnf import STANDARD

DEVICE = 'nova-rt-test'
UP = 1  # IFF_UP in linux/if.h


@pytest.fixture
def vnf(operator):
    """A VNF of the standard example, which runs."""
    vnf = operator.create(operator.onboard('standard'))
    vnf.instantiate(**STANDARD)
    return vnf


def test_a_vnfs_containers_answer_each_other_and_whom_a_rule_lets_in(
        vnf, observer, stack, user):
    (served,), (plain,) = vnf.servers('VDU_RT'), vnf.servers('VDU_PLAIN')
    addresses = observer.addresses(served)
    inside(observer, plain).reaches(addresses['inside'], network.SECOND)
    inside(observer, served).reaches(
        observer.addresses(plain)['inside'], network.FIRST)
    outside = network.outside(stack)
    assert not outside.pings(addresses['outside'])
    assert outside.asks(addresses['outside'], network.FIRST) is None
    with network.let_in(user.cloud, 'icmp', 'tcp'):
        outside.reaches(addresses['outside'], network.FIRST)
        assert not outside.pings(addresses['inside'])


def inside(observer, server):
    """Return the network of a server's container."""
    return network.Place('nsenter', f'--net=/proc/{observer.init_of(server)}/ns/net')


@pytest.fixture
def server(user, flavor):
    """A server on the network that leads to the outside."""
    user.run('server create lonely --flavor vnf --image busybox '
             '--network provider --wait')
    yield user.cloud.compute.find_server('lonely')
    user.run('server delete lonely --wait')


def test_a_port_that_the_switch_has_set_down_comes_up_again(user, server):
    port, = user.cloud.network.ports(device_id=server.id)
    device = pathlib.Path('/sys/class/net', f'tap{port.id[:11]}')
    run('ip', 'link', 'set', device.name, 'down')
    driver.until(lambda: int((device / 'flags').read_text(), 16) & UP,
                 f'{device.name} is up')


def test_devices_that_outlive_the_switch_are_removed(tmp_path):
    database = tmp_path / 'conf.db'
    run('ovsdb-tool', 'create', database, openvswitch.SCHEMA)
    run('ovsdb-tool', 'transact', database, json.dumps([
        'Open_vSwitch',
        insert('Interface', name=DEVICE, type='internal'),
        insert('Port', name=DEVICE, interfaces=['named-uuid', 'Interface']),
        insert('Bridge', name=DEVICE, ports=['named-uuid', 'Port']),
        insert('Open_vSwitch', bridges=['named-uuid', 'Bridge'])]))
    run('ip', 'tuntap', 'add', DEVICE, 'mode', 'tap')
    assert devices.remove(database) == []
    assert not pathlib.Path('/sys/class/net', DEVICE).exists()


def insert(table, **row):
    """Return one operation for the database, whose row bears its table's name."""
    return {'op': 'insert', 'table': table, 'uuid-name': table, 'row': row}


def run(*command):
    """Run a command, which must succeed."""
    subprocess.run([str(word) for word in command], check=True)
