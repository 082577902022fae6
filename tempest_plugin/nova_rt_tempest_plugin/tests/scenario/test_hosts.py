# SPDX-License-Identifier: Apache-2.0
"""Filling hosts."""

from tempest import config
from tempest import exceptions
from tempest.lib import decorators

from nova_rt_tempest_plugin.tests import base

CONF = config.CONF
# Two fit on a pCPU, a third does not.
RUNTIME_US = 80_000
ON_A_PCPU = 2


class HostsTest(base.ReservationTest):
    """Reserves until nothing is left, so these tests run one at a time."""

    @classmethod
    def skip_checks(cls):
        """Skip if the cap admits a different number of servers per pCPU."""
        super().skip_checks()
        share = RUNTIME_US / base.PERIOD_US
        if not ON_A_PCPU <= CONF.nova_rt.cap / share < ON_A_PCPU + 1:
            raise cls.skipException(
                f'With a cap of {CONF.nova_rt.cap}, not just {ON_A_PCPU} '
                f'servers of {share} fit on a pCPU.')

    def setUp(self):
        """Find the hosts, and lift the project's quota."""
        super().setUp()
        self.rt_hosts = self.hosts()
        busy = [host.name for host in self.rt_hosts if self.allocated(host)]
        if busy:
            raise self.skipException(
                f'Others have reservations on {", ".join(busy)}.')
        quotas = self.os_admin.quotas_client
        project = self.servers.project_id
        quotas.update_quota_set(project, instances=-1, cores=-1, ram=-1)
        self.addCleanup(quotas.delete_quota_set, project)

    def _wide(self):
        """Return a flavor that needs every pCPU of the smallest host."""
        pcpus = min(host.pcpus for host in self.rt_hosts)
        return self.flavor(RUNTIME_US, pcpus)

    def _fill(self, flavor):
        """Create servers until one does not fit; return those that run."""
        most = sum(ON_A_PCPU * host.pcpus for host in self.rt_hosts)
        running = []
        while len(running) <= most:
            server = self.create(flavor)
            if not self._fits(server):
                self._check_fault(server)
                self.delete(server)
                return running
            running.append(server)
        self.fail(f'{len(running)} servers were admitted: the cap is not enforced.')

    def _fits(self, server):
        """Wait until a server is built or refused; return whether it was built."""
        try:
            self.wait_for(server, 'ACTIVE')
        except exceptions.BuildErrorException:
            return False
        return True

    def _check_fault(self, server):
        fault = self.servers.show_server(server)['server']['fault']
        self.assertIn('No valid host', fault['message'])

    @decorators.idempotent_id('e9d7c5b3-a1f0-4e8d-8c6b-4a2f0e1d3c31')
    def test_a_host_is_filled_to_its_cap_and_not_over_it(self):
        running = self._fill(self._wide())
        self.assertGreaterEqual(len(running), ON_A_PCPU)
        for host in self.rt_hosts:
            self.assertLessEqual(self.allocated(host), host.offered)

    @decorators.idempotent_id('0d8f6e4c-2b1a-4f9e-9d7c-5b3a1f0e2d32')
    def test_what_a_server_gives_back_can_be_reserved_again(self):
        flavor = self._wide()
        running = self._fill(flavor)
        self.delete(running[0])
        self.boot(flavor)

    @decorators.idempotent_id('b8a6f4e2-d0c1-4b9f-8e7d-6c5b4a3f2e33')
    def test_a_server_that_one_host_has_no_room_for_goes_to_the_next(self):
        if len(self.rt_hosts) < 2:
            raise self.skipException(
                'Only one host offers reservations: there is no next one.')
        flavor = self._wide()
        taken = {self.host_of(server) for server in self._fill(flavor)}
        self.assertEqual({host.name for host in self.rt_hosts}, taken)
