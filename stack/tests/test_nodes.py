# SPDX-License-Identifier: Apache-2.0
"""What a node that is a virtual machine gets from the stack."""

import json
from unittest import mock

import pytest

from stack import errors
from stack import rundir
from stack import service
from stack.nodes import containers
from stack.nodes import machine as nodes_machine
from stack.nodes import network
from stack.nodes import pins
from stack.nodes import share

HOST = '192.0.2.7'


@pytest.fixture
def site(tmp_path):
    directory = rundir.RunDir(tmp_path / 'run')
    directory.create()
    return service.Site(directory, nodes=2)


@pytest.fixture
def configuration(site):
    return share.configuration(site, 'node-2', HOST)


def test_a_node_finds_every_server_where_it_sees_the_host(configuration):
    text = str(configuration)
    assert '127.0.0.1' not in text
    assert f'@{HOST}:' in configuration['DEFAULT']['transport_url']


def test_a_node_has_no_access_to_databases(site, configuration):
    assert not {'database', 'api_database'} & set(configuration)
    assert site.database('nova') not in str(configuration)


def test_a_node_is_reached_at_an_address_of_its_own(configuration):
    assert configuration['DEFAULT']['my_ip'] == '192.168.61.2'
    assert configuration['DEFAULT']['host'] == 'node-2'


def test_a_nodes_agent_switches_in_the_kernel_and_knows_no_password_of_users(
        site):
    configuration = share.network_configuration(site, 'node-2', HOST)
    assert configuration['DEFAULT']['host'] == 'node-2'
    assert configuration['ovs']['datapath_type'] == 'system'
    assert f'@{HOST}:' in configuration['DEFAULT']['transport_url']
    assert not {'database', 'keystone_authtoken', 'nova'} & set(configuration)


def test_an_agent_that_does_not_report_is_started_once_more(site):
    machine = mock.Mock(spec=nodes_machine.Machine)
    machine.name, machine.agent, machine.wire = 'node-2', 'agent-2', 'wire-2'
    machine.wait.side_effect = (errors.StackError('was not ready after 420 s'), None)
    network.NodeAgent(site, machine).start()
    machine.run.assert_called_once_with(
        'systemctl', 'restart', 'neutron-openvswitch-agent', check=False)
    machine.wait.side_effect = (None,)
    network.NodeAgent(site, machine).start()
    machine.run.assert_called_once()


def test_pins_are_exact_and_leave_out_what_the_tree_has():
    versions = dict(pin.split('==') for pin in pins.pins(('nova-rt', 'pytest')))
    assert versions['nova'].startswith('34.')
    # Of the extra that Nova asks of oslo.service.
    assert 'cotyledon' in versions
    assert 'nova-rt' not in versions
    assert 'libvirt-python' not in versions


def test_a_site_of_a_running_stack_knows_its_nodes(site):
    site.rundir.discard()
    site.rundir.create(nodes=2)
    assert service.Site.of(site.rundir).nodes == 2


def test_the_distance_is_that_of_the_worst_pcpu():
    printed = {'instance-00000001': {
        'group': 'g', 'dialect': 'hcbs-multi', 'period_us': 200_000,
        'runtimes_us': [60_000, 0], 'pcpus': [0], 'policies': [[1, 10]],
        'shares': [0.29, 0.03]}}
    container = containers.parse(json.dumps(printed))['instance-00000001']
    assert container.reserved == (0.3, 0)
    assert container.farthest == pytest.approx(0.03)
    assert container.policies == {(1, 10)}
