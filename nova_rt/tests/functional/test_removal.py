# SPDX-License-Identifier: Apache-2.0
"""After nova-rt is removed, Nova and Placement have what they have without it."""

import fixtures
from nova import context
from nova import service
from nova.compute import claims
from nova.compute import resource_tracker
from nova.db.api import api as api_db
from nova.db.main import api as main_db
from nova.objects import ec2
from nova.scheduler import request_filter
from nova.virt import fake
from placement import db_api as placement_db

from nova_rt.db import cells as db_cells
from nova_rt.db import history
from nova_rt.removal import cloud as removal_cloud
from nova_rt.removal import placement
from nova_rt.testing import cases
from nova_rt.testing import cloud
from nova_rt.testing import database_rows

HALF = {cases.RUNTIME: '50000', cases.PERIOD: '100000'}
QUARTER = {cases.RUNTIME: '25000', cases.PERIOD: '100000'}


class Life:
    """What is done with servers, whether or not nova-rt is there."""

    __test__ = False

    def live(self):
        """Boot, resize, migrate, migrate live, and delete, with reservations."""
        # Of this process: the second to live would find what the first has written.
        self.useFixture(fixtures.MockPatchObject(ec2, '_CACHE', None))
        for host in ('host1', 'host2'):
            self.computes[host] = self._start_compute(host)
        for name, extra_specs in (('half', HALF), ('quarter', QUARTER), ('plain', {})):
            self._create_flavor(vcpu=1, memory_mb=64, disk=1, extra_spec=extra_specs,
                                name=name, id=name)
        self.stays = self.new('half', hints={'cpu.rt_runtime_us': '60000'})
        self.resized = self.new('half')
        self.resize(self.resized, 'quarter')
        self._confirm_resize(self.resized)
        self.migrated = self.new('half', hints={'cpu.rt_runtime_us': '70000'})
        self._migrate_server(self.migrated)
        self._confirm_resize(self.migrated)
        self.moving = self.new('quarter')
        self.resize(self.moving, 'half')
        self.live_migrated = self.new('quarter')
        self._live_migrate(self.live_migrated, 'completed')
        self._delete_server(self.new('half'))
        self.new('plain')

    def stop_computes(self):
        """Stop the compute services, and do not wait until Nova counts them as down."""
        for compute in self.computes.values():
            compute.stop()
            self.force_down(compute.host, True)

    def start_nova(self):
        """Start Nova's own services in place of those that ran."""
        self.useFixture(fixtures.MockPatchObject(resource_tracker, 'claims', claims))
        self.useFixture(fixtures.MockPatchObject(service, 'SERVICE_MANAGERS', dict(
            service.SERVICE_MANAGERS, **{'nova-compute': 'nova.compute.manager.ComputeManager'})))
        self.useFixture(fixtures.MockPatchObject(request_filter, 'ALL_REQUEST_FILTERS', [
            each for each in request_filter.ALL_REQUEST_FILTERS
            if each.__module__.startswith('nova.')]))
        self.flags(enabled_filters=['ComputeFilter'], group='filter_scheduler')
        self.flags(compute_driver='fake.FakeDriver')
        for host, compute in self.computes.items():
            driver = fake.FakeDriver(compute.manager.virtapi)
            driver.instances = compute.manager.driver.instances
            compute.manager.driver = driver
            self.computes[host] = self.restart_compute_service(compute)
            self.force_down(host, False)
        self.scheduler_service.stop()
        self.scheduler_service = self.start_service('scheduler')

    def live_on(self):
        """Do with the servers what Nova can do without nova-rt."""
        self._confirm_resize(self.moving)
        self._migrate_server(self.stays)
        self._confirm_resize(self.stays)
        self._live_migrate(self.live_migrated, 'completed')
        self._delete_server(self.resized)
        self.new('plain')
        self._run_periodics()

    def new(self, flavor, hints=()):
        body = {'server': self._build_server(
            flavor_id=flavor, networks='none', az='nova:host1', name='server')}
        if hints:
            body['os:scheduler_hints'] = hints
        return self._wait_for_state_change(self.api.post_server(body), 'ACTIVE')

    def resize(self, server, flavor):
        self.api.post_server_action(server['id'], {'resize': {'flavorRef': flavor}})
        self._wait_for_state_change(server, 'VERIFY_RESIZE')

    def engines(self):
        """Return the engines of Nova's and Placement's databases, by name."""
        found = {'api': api_db.get_engine(), 'placement': placement_db.get_placement_engine()}
        for name, mapping in self.cell_mappings.items():
            with context.target_cell(context.get_admin_context(), mapping) as cell:
                found[name] = main_db.get_engine(context=cell)
        return found

    def note_rows(self):
        """Note all rows of Nova's and Placement's databases."""
        reader = database_rows.Reader()
        self.noted |= {name: reader.rows(engine)
                       for name, engine in sorted(self.engines().items())}


class WithNovaRT(Life, cloud.CloudTestCase):
    """Has nova-rt, and removes it while Nova runs."""

    compute_driver = 'fake.FakeMachineDriver'

    def runTest(self):
        databases = {name: db_cells.Cell(name, str(engine.url))
                     for name, engine in self.engines().items()}
        cells = [databases[name] for name in self.cell_mappings]
        for cell in cells:
            with cell.connection() as connection:
                history.upgrade(connection, 10)
        admin = context.get_admin_context()
        self.cloud = removal_cloud.Cloud(
            admin, databases['api'], cells, placement.Placement(admin))
        self.live()
        reserved = {f'server {server["id"]}' for server in (
            self.stays, self.resized, self.migrated, self.moving, self.live_migrated)}
        # While nova-rt-compute runs, its servers and hosts are left as they are.
        self.cloud.clean(abandon=True)
        self.assertEqual({'host host1', 'host host2', *reserved}, {
            place for place in self.left() if place.startswith(('host', 'server'))})
        self.assert_audited()
        self.stop_computes()
        # Without being told to, it leaves the servers that have reservations.
        self.cloud.clean(abandon=False)
        columns = {f'cell {cell.name}' for cell in cells}
        self.assertEqual({*reserved, 'Placement', *columns}, self.left())
        self.cloud.clean(abandon=True)
        self.assertEqual(columns, self.left())
        for cell in cells:
            with cell.connection() as connection:
                history.downgrade(connection, 10)
        self.assertEqual(set(), self.left())
        self.start_nova()
        self.live_on()
        self.assertEqual(set(), self.left())
        self.note_rows()

    def left(self):
        """Return the places where something of nova-rt is left."""
        return {remnant.place for remnant in self.cloud.left() if remnant.ours}


class WithoutIt(Life, cloud.StockCloudTestCase):
    """Never had it."""

    def runTest(self):
        self.live()
        self.stop_computes()
        self.start_nova()
        self.live_on()
        self.note_rows()


def lived(case):
    """Run a test case that is no test by itself; return the rows that it noted."""
    # Nova deletes a case's attributes at its end.
    noted = case.noted = {}
    result = case.defaultTestResult()
    case.run(result)
    problems = [text for _, text in (*result.failures, *result.errors)]
    assert not problems, problems[0]
    return noted


def compared(databases):
    """Return the rows of each table, without what differs for a known reason."""
    for row in databases['cell1']['migrations']:
        if row['migration_type'] == 'live-migration':
            # Nova notes the destination's address where it claims, as for pinned CPUs.
            row |= {'dest_host': '', 'dest_compute_id': ''}
    return {(name, table): rows for name, tables in databases.items()
            for table, rows in tables.items()}


def test_after_removal_databases_are_those_of_a_twin_that_never_had_it():
    with_it = compared(lived(WithNovaRT('runTest')))
    without = compared(lived(WithoutIt('runTest')))
    assert with_it.keys() == without.keys()
    assert {table: (rows, without[table]) for table, rows in with_it.items()
            if rows != without[table]} == {}
