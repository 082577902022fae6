# SPDX-License-Identifier: Apache-2.0
"""Nova at work over a database with our columns."""

import io

import fixtures
from nova import context
from nova.cmd import manage
from nova.db.main import api as main_db

from nova_rt.db import history
from nova_rt.testing import cloud


class TestColumns(cloud.CloudTestCase):
    """The database that the services use has been upgraded."""

    def setUp(self):
        super().setUp()
        self.compute = self._start_compute('host1')
        with self.cell().begin() as connection:
            history.upgrade(connection, 10)

    def cell(self):
        with context.target_cell(context.get_admin_context(),
                                 self.cell_mappings['cell1']) as targeted:
            engine = main_db.get_engine(context=targeted)
        return engine

    def read(self, sql):
        with self.cell().connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(sql)]

    def test_they_tell_what_was_reserved_with_the_hint(self):
        self.boot(self.make_flavor(50, 2), hints={
            'cpu.rt_runtime_us': 70_000})
        self.assertEqual([(70_000, 100_000)], self.read(
            'SELECT rt_runtime_us, rt_period_us FROM instance_extra'))
        self.assertEqual([(3.8, 1.4)], self.read(
            'SELECT rt_share, rt_share_used FROM compute_nodes'))

    def test_a_deleted_server_frees_its_share_in_them(self):
        server = self.boot(self.make_flavor(50, 2))
        self._delete_server(server)
        self.assertEqual([(3.8, 0)], self.read(
            'SELECT rt_share, rt_share_used FROM compute_nodes'))

    def test_lost_allocations_are_healed(self):
        server = self.boot(self.make_flavor(50, 2))
        before = self._get_allocations_by_server_uuid(server['id'])
        self._delete_server_allocations(server['id'])
        printed = io.StringIO()
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', printed))
        self.assertEqual(
            0, manage.PlacementCommands().heal_allocations(verbose=True),
            printed.getvalue())
        healed = self._get_allocations_by_server_uuid(server['id'])
        self.assertEqual(
            {uuid: allocation['resources'] for uuid, allocation in before.items()},
            {uuid: allocation['resources'] for uuid, allocation in healed.items()})
