# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: make flavors, create servers, inspect hosts."""

from dataclasses import dataclass

from tempest import config
from tempest import test
from tempest.common import waiters
from tempest.lib.common import api_microversion_fixture
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils

CONF = config.CONF
RT_SHARE = 'CUSTOM_RT_SHARE'
PERIOD_US = 200_000
# The first that shows the extra specs of a server's flavor.
COMPUTE_MICROVERSION = '2.47'
# The first that finds providers by their remaining inventory.
PLACEMENT_MICROVERSION = '1.4'


@dataclass(frozen=True)
class Host:
    """A host that offers reservations.

    :ivar provider: the id of its resource provider
    :ivar pcpus: its number of pCPUs
    :ivar offered: the most that Placement can allocate, in units of
        1/1048576 of a CPU
    """

    provider: str
    name: str
    pcpus: int
    offered: int


class ReservationTest(test.BaseTestCase):
    """Base class; its users have only the roles that tempest assigns."""

    credentials = ['primary', 'admin']

    @classmethod
    def skip_checks(cls):
        """Skip without Nova or an image."""
        super().skip_checks()
        if not CONF.service_available.nova:
            raise cls.skipException('Nova is not available.')
        if not CONF.compute.image_ref:
            raise cls.skipException('[compute] image_ref is not set.')

    @classmethod
    def setup_credentials(cls):
        """Request no network: containers here have none."""
        cls.set_network_resources()
        super().setup_credentials()

    @classmethod
    def setup_clients(cls):
        """Set the clients that every test uses."""
        super().setup_clients()
        cls.servers = cls.os_primary.servers_client
        cls.flavors = cls.os_admin.flavors_client

    def setUp(self):
        """Choose the versions of the APIs."""
        super().setUp()
        self.useFixture(api_microversion_fixture.APIMicroversionFixture(
            compute_microversion=COMPUTE_MICROVERSION,
            placement_microversion=PLACEMENT_MICROVERSION))

    def flavor(self, runtime_us=None, vcpus=1, period_us=PERIOD_US, **more):
        """Make a flavor, without a reservation if no runtime is given.

        :param more: further extra specs, without the prefix ``hw:cpu.``
        """
        flavor = self.flavors.create_flavor(
            name=data_utils.rand_name('rt'), ram=64, vcpus=vcpus, disk=1,
        )['flavor']['id']
        self.addCleanup(self.flavors.delete_flavor, flavor)
        specs = {f'hw:cpu.{name}': str(value) for name, value in more.items()}
        if runtime_us is not None:
            specs['hw:cpu.rt_runtime_us'] = str(runtime_us)
            specs['hw:cpu.rt_period_us'] = str(period_us)
        if specs:
            self.flavors.set_flavor_extra_spec(flavor, **specs)
        return flavor

    def create(self, flavor, image=None, hints=None):
        """Create a server and return its id, without waiting for it."""
        more = {'scheduler_hints': hints} if hints else {}
        server = self.servers.create_server(
            name=data_utils.rand_name('rt'), flavorRef=flavor,
            imageRef=image or CONF.compute.image_ref, networks='none', **more,
        )['server']['id']
        self.addCleanup(self._delete_if_present, server)
        return server

    def boot(self, *args, **more):
        """Create a server, wait until it is active, return its id."""
        server = self.create(*args, **more)
        self.wait_for(server, 'ACTIVE')
        return server

    def wait_for(self, server, status):
        """Wait until a server has this status and no task in progress."""
        waiters.wait_for_server_status(
            self.servers, server, status, raise_on_error=status != 'ERROR')

    def delete(self, server):
        """Delete a server and wait until it is gone."""
        self.servers.delete_server(server)
        waiters.wait_for_server_termination(
            self.servers, server, ignore_error=True)

    def _delete_if_present(self, server):
        test_utils.call_and_ignore_notfound_exc(self.delete, server)

    def reserved(self, server):
        """Return the runtime and period that Nova shows for a server, in µs."""
        shown = self.servers.show_server(server)['server']
        specs = shown['flavor']['extra_specs']
        return (int(specs['hw:cpu.rt_runtime_us']),
                int(specs['hw:cpu.rt_period_us']))

    def host_of(self, server):
        """Return the name of a server's host."""
        shown = self.os_admin.servers_client.show_server(server)['server']
        return shown['OS-EXT-SRV-ATTR:hypervisor_hostname']

    def hosts(self):
        """Return the hosts that have some share left.

        :raises skipException: if there is none
        """
        client = self.os_admin.resource_providers_client
        providers = client.list_resource_providers(
            resources=f'{RT_SHARE}:1')['resource_providers']
        if not providers:
            raise self.skipException(
                'No host has any share left: is nova-rt-compute running?')
        return [self._host(client, provider) for provider in providers]

    def _host(self, client, provider):
        inventories = client.list_resource_provider_inventories(
            provider['uuid'])['inventories']
        share = inventories[RT_SHARE]
        return Host(provider['uuid'], provider['name'],
                    inventories['VCPU']['total'],
                    share['total'] - share['reserved'])

    def allocated(self, host):
        """Return how much of a host's share Placement has allocated."""
        usages = self.os_admin.resource_providers_client
        return usages.list_resource_provider_usages(
            host.provider)['usages'][RT_SHARE]
