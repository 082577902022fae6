# SPDX-License-Identifier: Apache-2.0
"""What the commands make of the API's answers."""

from unittest import mock

import openstack.exceptions
from osc_lib import exceptions
import pytest

from nova_rt.osc import columns
from nova_rt.osc import fit
from nova_rt.osc import host
from nova_rt.osc import identifiers
from nova_rt.osc import project
from nova_rt.osc import server

UUID = '12345678-1234-4234-8234-123456789012'
HALF = 1 << 19
WANTED = {'runtime_us': 50_000, 'period_us': 100_000, 'vcpus': 2, 'bandwidth': HALF}
HOST = {'host': 'h', 'kind': 'container', 'dialect': 'hcbs-multi', 'pcpus_offered': 2,
        'cap': 1 << 20, 'share': 2 << 20, 'share_used': 1 << 20, 'most_left': HALF,
        'trouble': '', 'placement_policy': 'worst-fit'}
SERVER = {'server': UUID, 'name': 'web', 'project_id': 'p', 'status': 'active',
          'kind': 'container', 'reservation': WANTED, 'pcpus': [0, 1, 2, 5]}


@pytest.fixture
def clients():
    return mock.Mock()


@pytest.fixture
def run(clients):
    """Run a command; return its rows, by column, as programs read them."""
    def read(value):
        return value.machine_readable() if hasattr(value, 'machine_readable') else value

    def run(kind, *arguments):
        command = kind(mock.Mock(client_manager=clients), None)
        parsed = command.get_parser('rt').parse_args(list(arguments))
        names, values = command.take_action(parsed)
        rows = values if isinstance(values, list) else [values]
        return [dict(zip(names, map(read, row), strict=True)) for row in rows]
    return run


def test_hosts_are_listed_by_name_with_shares_in_cpus(run, clients):
    clients.rt.pages.return_value = [HOST, {**HOST, 'host': 'a'}]
    rows = run(host.List)
    assert [row['host'] for row in rows] == ['a', 'h']
    assert (rows[1]['share'], rows[1]['used'], rows[1]['most_left']) == (2.0, 1.0, 0.5)


def test_a_host_is_shown_pcpu_by_pcpu(run, clients):
    clients.rt.get.return_value = {
        **HOST, 'pcpus': [
            {'pcpu': 0, 'capacity': 1 << 20, 'used': HALF, 'left': HALF},
            {'pcpu': 1, 'capacity': 1 << 20, 'used': 0, 'left': 1 << 20}],
        'holdings': [{'server': UUID, 'name': 'web', 'reservation': WANTED, 'pcpus': [0]}]}
    (row,) = run(host.Show, 'a/b')
    clients.rt.get.assert_called_once_with('/hosts/a%2Fb')
    assert row['pcpus'] == [
        {'pcpu': 0, 'capacity': 1.0, 'used': 0.5, 'left': 0.5, 'servers': {UUID: 0.5}},
        {'pcpu': 1, 'capacity': 1.0, 'used': 0.0, 'left': 1.0, 'servers': {}}]
    drawn = columns.Bars(clients.rt.get.return_value).human_readable().splitlines()
    assert len(drawn) == 2
    assert 'web 50%' in drawn[0]


def test_servers_are_listed_as_far_as_one_may_see(run, clients):
    clients.rt.pages.return_value = [SERVER, {**SERVER, 'host': 'h', 'reservation': None}]
    own, other = run(server.List, '--host', 'h')
    clients.rt.pages.assert_called_once_with(
        '/servers', 'servers', host='h', project_id=None)
    assert (own['host'], own['bandwidth'], own['pcpus']) == (None, 0.5, [0, 1, 2, 5])
    assert (other['host'], other['bandwidth'], other['runtime_us']) == ('h', None, None)


def test_pcpus_are_ranges_for_people():
    assert columns.PCPUs([0, 1, 2, 5]).human_readable() == '0-2,5'
    assert columns.Share(HALF).human_readable() == '50%'


def test_projects_are_listed(run, clients):
    clients.rt.pages.return_value = [
        {'project_id': 'p', 'servers': 1, 'vcpus': 2, 'share': 1 << 20}]
    assert run(project.List) == [
        {'project_id': 'p', 'servers': 1, 'vcpus': 2, 'share': 1.0}]


def test_why_tells_the_fault_then_each_shortfall_and_where_it_fits(run, clients):
    clients.rt.post.return_value = {'fault': 'No valid host.', 'hosts': [
        {'host': 'a', 'fits': False, 'shortfalls': [{
            'what': 'VCPU', 'needed': '2', 'left': '1', 'missing': '1',
            'sentence': 'Too few.'}]},
        {'host': 'b', 'fits': True, 'shortfalls': []}]}
    rows = run(fit.Why, UUID)
    clients.rt.post.assert_called_once_with('/why', {'server': UUID})
    assert [(row['host'], row['what'], row['why']) for row in rows] == [
        ('', 'fault', 'No valid host.'), ('a', 'VCPU', 'Too few.'),
        ('b', '', 'The server fits now.')]


def test_why_takes_a_flavor_and_hints(run, clients):
    clients.rt.post.return_value = {'fault': '', 'hosts': []}
    assert run(fit.Why, '--flavor', 'f', '--hint', 'cpu.rt_runtime_us=1',
               '--hint', 'cpu.rt_period_us=2') == []
    clients.rt.post.assert_called_once_with('/why', {'flavor': 'f', 'hints': {
        'cpu.rt_runtime_us': '1', 'cpu.rt_period_us': '2'}})


@pytest.mark.parametrize('arguments', [(), (UUID, '--flavor', 'f')])
def test_why_takes_either_a_server_or_a_flavor(run, arguments):
    with pytest.raises(SystemExit):
        run(fit.Why, *arguments)


def test_hints_need_a_flavor(run):
    with pytest.raises(exceptions.CommandError, match='--flavor'):
        run(fit.Why, UUID, '--hint', 'a=b')


def test_capacity_ends_with_all_hosts_together(run, clients):
    clients.rt.post.return_value = {'total': 3, 'hosts': [
        {'host': 'a', 'servers': 3, 'limit': 'VCPU: no more.'}]}
    assert run(fit.Capacity, '--flavor', 'f') == [
        {'host': 'a', 'servers': 3, 'limit': 'VCPU: no more.'},
        {'host': '', 'servers': 3, 'limit': 'All hosts together.'}]


def test_a_server_is_found_by_its_name(run, clients):
    find = clients.sdk_connection.compute.find_server
    find.side_effect = [openstack.exceptions.ForbiddenException, mock.Mock(id=UUID)]
    clients.rt.get.return_value = SERVER
    (row,) = run(server.Show, 'web')
    assert row['id'] == UUID
    # All projects are an administrator's to see.
    assert [call.kwargs.get('all_projects') for call in find.call_args_list] == [True, None]
    clients.rt.get.assert_called_once_with(f'/servers/{UUID}')


@pytest.mark.parametrize(('arguments', 'body'), [
    (('--runtime-us', '7'), {'runtime_us': 7}), ((), {}),
    (('--runtime-us', '7', '--period-us', '200'), {'runtime_us': 7, 'period_us': 200})])
def test_what_is_set_is_sent_and_what_it_has_then_is_shown(run, clients, arguments, body):
    clients.sdk_connection.compute.find_server.return_value = mock.Mock(id=UUID)
    clients.rt.patch.return_value = SERVER
    (row,) = run(server.Set, 'web', *arguments)
    assert row['bandwidth'] == 0.5
    clients.rt.patch.assert_called_once_with(
        f'/servers/{UUID}/reservation', body, since='1.1')


@pytest.mark.parametrize(('found', 'sentence'), [
    ([None, None], "There is no server 'web'"),
    ([openstack.exceptions.DuplicateResource], 'More than one server')])
def test_a_name_without_a_server_or_with_two_is_one_sentence(clients, found, sentence):
    clients.sdk_connection.compute.find_server.side_effect = found
    with pytest.raises(exceptions.CommandError, match=sentence):
        identifiers.of_server(clients, 'web')
