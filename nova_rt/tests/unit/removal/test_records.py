# SPDX-License-Identifier: Apache-2.0
"""nova-rt's records in a cell's database and in that of the API."""

import contextlib
import json

import pytest
import sqlalchemy as sa

from nova_rt.removal import records
from nova_rt.tests.unit.removal import test_documents as nova

STATS = '{"failed_builds": "0", "rt_share": "4"}'
OTHERS = '{"failed_builds": "0"}'
NODES = 'compute_nodes (id INTEGER, uuid TEXT, host TEXT, stats TEXT, deleted INTEGER)'
EXTRA = 'instance_extra (id INTEGER PRIMARY KEY, instance_uuid TEXT, flavor TEXT)'
METADATA = 'instance_system_metadata (instance_uuid TEXT, "key" TEXT)'
TABLES = (
    'instances (uuid TEXT, display_name TEXT, host TEXT, vm_state TEXT, task_state TEXT, '
    'deleted INTEGER)',
    'migrations (uuid TEXT, instance_uuid TEXT)',
    'request_specs (id INTEGER PRIMARY KEY, instance_uuid TEXT, spec TEXT)',
    *(prefix + table for prefix in ('', 'shadow_') for table in (NODES, EXTRA, METADATA)))


class Cell:
    """A database in memory, for a cell and the API at once."""

    def __init__(self, connection):
        self.connection = connection
        for table in TABLES:
            connection.exec_driver_sql(f'CREATE TABLE {table}')

    def add(self, table, *values):
        marks = ', '.join('?' * len(values))
        self.connection.exec_driver_sql(f'INSERT INTO {table} VALUES ({marks})', values)

    def server(self, uuid, extra_specs, host='host1', deleted=0, pcpus=True, prefix='',
               vm_state='active', evicted=False):
        """Add a server; its hint has overridden the runtime."""
        if not prefix:
            self.add('instances', uuid, f'name of {uuid}', host, vm_state, None, deleted)
        self.add(f'{prefix}instance_extra', None, uuid, nova.stored(nova.flavor(extra_specs)))
        self.add('request_specs', None, uuid,
                 nova.spec(extra_specs, {'cpu.rt_runtime_us': ['60000']}))
        for key in ('image_os', *(['rt_pcpus'] if pcpus else []),
                    *(['rt_evicted'] if evicted else [])):
            self.add(f'{prefix}instance_system_metadata', uuid, key)

    def rows(self, query):
        return [tuple(row) for row in self.connection.exec_driver_sql(query)]

    def forget(self, uuid):
        records.forget_server(self.connection, self.connection, uuid, lambda _: nova.OWN)
        records.forget_request(self.connection, uuid, lambda _: nova.OWN)


@pytest.fixture
def cell():
    with sa.create_engine('sqlite://', isolation_level='AUTOCOMMIT').connect() as connection:
        yield Cell(connection)


def test_the_servers_with_a_reservation_are_named(cell):
    cell.server('a', nova.MERGED)
    cell.server('b', {}, pcpus=False)
    assert records.servers(cell.connection) == [
        records.Server('a', 'name of a', 'host1', None, True)]


def test_one_that_nova_has_resized_to_a_flavor_without_has_records_only(cell):
    cell.server('a', {})
    assert [server.reserved for server in records.servers(cell.connection)] == [False]


def test_one_that_is_stopped_for_another_is_told_from_one_that_runs_again(cell):
    cell.server('a', nova.MERGED, vm_state='stopped', evicted=True)
    cell.server('b', nova.MERGED, vm_state='active', evicted=True)
    cell.server('c', nova.MERGED, vm_state='stopped')
    assert [server.evicted for server in records.servers(cell.connection)] == [
        True, False, False]


@pytest.mark.parametrize('prefix', ['', 'shadow_'])
def test_a_server_of_the_past_is_forgotten_and_what_is_novas_stays(cell, prefix):
    cell.server('a', nova.MERGED, deleted=7, prefix=prefix)
    assert records.past_servers(cell.connection) == {'a'}
    cell.forget('a')
    assert records.past_servers(cell.connection) == set()
    assert cell.rows(f'SELECT "key" FROM {prefix}instance_system_metadata') == [('image_os',)]
    assert cell.rows(f'SELECT flavor FROM {prefix}instance_extra') == [
        (nova.stored(nova.flavor(nova.OWN)),)]


def test_a_server_that_is_there_is_not_of_the_past(cell):
    cell.server('a', nova.MERGED)
    assert records.past_servers(cell.connection) == set()


def test_a_request_is_forgotten_with_its_server(cell):
    cell.server('a', nova.MERGED)
    assert records.requests(cell.connection) == {'a'}
    cell.forget('a')
    assert records.requests(cell.connection) == set()


def test_another_server_is_left_as_it_is(cell):
    cell.server('a', nova.MERGED)
    cell.server('b', nova.MERGED)
    cell.forget('a')
    assert [server.uuid for server in records.servers(cell.connection)] == ['b']
    assert records.requests(cell.connection) == {'b'}


def test_a_document_that_nova_has_changed_meanwhile_is_left_for_the_next_time(cell):
    cell.server('a', nova.MERGED)
    resized = nova.stored(nova.flavor({'hw:mem_page_size': 'small'}))

    def looked_up(flavorid):
        cell.connection.exec_driver_sql('UPDATE instance_extra SET flavor = ?', (resized,))
        return {}
    records.forget_server(cell.connection, cell.connection, 'a', looked_up)
    assert cell.rows('SELECT flavor FROM instance_extra') == [(resized,)]


def test_stats_are_left_where_a_service_reports_them(cell):
    for number, host, deleted in ((1, 'up', 0), (2, 'down', 0), (3, 'gone', 3)):
        cell.add('compute_nodes', number, f'uuid of {host}', host, STATS, deleted)
    cell.add('shadow_compute_nodes', 5, 'uuid of old', 'old', STATS, 5)
    assert records.nodes(cell.connection) == [
        records.Node('down', 'uuid of down'), records.Node('up', 'uuid of up')]
    assert records.unreported(cell.connection, {'up'}) == 3
    records.forget_unreported(cell.connection, {'up'})
    assert records.unreported(cell.connection, {'up'}) == 0
    assert cell.rows('SELECT host, stats FROM compute_nodes') == [
        ('up', STATS), ('down', OTHERS), ('gone', OTHERS)]
    assert json.loads(cell.rows('SELECT stats FROM shadow_compute_nodes')[0][0]) == (
        json.loads(OTHERS))


def test_a_migration_is_its_servers(cell):
    cell.add('migrations', 'm', 'a')
    assert records.migrations(cell.connection, 'a') == {'m'}


class KilledError(Exception):
    """The command is killed before a statement."""


@pytest.mark.parametrize('statements', range(12))
def test_killed_before_any_statement_and_run_again_all_is_forgotten(cell, statements):
    cell.server('a', nova.MERGED, deleted=7)
    left = iter(range(statements))

    def count(*_):
        if next(left, None) is None:
            raise KilledError
    sa.event.listen(cell.connection, 'before_cursor_execute', count)
    with contextlib.suppress(KilledError):
        cell.forget('a')
    sa.event.remove(cell.connection, 'before_cursor_execute', count)
    for server in records.past_servers(cell.connection) | records.requests(cell.connection):
        cell.forget(server)
    assert cell.rows('SELECT flavor FROM instance_extra') == [
        (nova.stored(nova.flavor(nova.OWN)),)]
    assert cell.rows('SELECT "key" FROM instance_system_metadata') == [('image_os',)]
    assert cell.rows('SELECT spec FROM request_specs') == [
        (nova.spec(nova.OWN, {'cpu.rt_runtime_us': ['60000']}),)]
