# SPDX-License-Identifier: Apache-2.0
"""A service that is killed between any two of its writes of a live migration."""

import itertools

from nova_rt.testing import cloud
from nova_rt.tests.functional import killed


class TestKilledInALiveMigration(killed.AtAnyWrite, cloud.CloudTestCase):
    """The server is on one of both hosts with its reservation; deleted, it leaves nothing."""

    compute_driver = 'fake.FakeMachineDriver'

    def setUp(self):
        super().setUp()
        # A service that has died answers nobody.
        self.flags(rpc_response_timeout=5, long_rpc_timeout=5)
        for host in ('host1', 'host2'):
            self.start(host)
        self.flavor = self.make_flavor(50, 2)

    def assert_in_order(self, host, method):
        for number in itertools.count(step=killed.STEP):
            self.server = self.boot(self.flavor, az='nova:host1')
            if not self.killed_at(number, host, self.computes[host].manager, method,
                                  **{'os-migrateLive': {
                                      'host': 'host2', 'block_migration': 'auto'}}):
                break
            self._wait_for_migration_status(self.server, ['completed', 'error'])
            self._wait_for_server_parameter(self.server, {'OS-EXT-STS:task_state': None})
            self.assert_at_rest()
            self.end_server()
        self.assertGreater(number, 1)

    def test_on_the_source(self):
        self.assert_in_order('host1', '_do_live_migration')

    def test_on_the_destination(self):
        self.assert_in_order('host2', 'post_live_migration_at_destination')
