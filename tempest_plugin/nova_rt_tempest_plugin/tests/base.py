# SPDX-License-Identifier: Apache-2.0
"""What all tests do: make flavors, ask for servers, look at hosts."""

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
# The first that shows a server's own extra specs.
COMPUTE_MICROVERSION = '2.47'
# The first that finds providers by what they have left.
PLACEMENT_MICROVERSION = '1.4'


@dataclass(frozen=True)
class Host:
    """A host that offers reservations.

    :ivar provider: the id of its resource provider.
    :ivar pcpus: how many it has.
    :ivar offered: the most that Placement promises of it, in units of
        1/1048576 of a CPU.
    """

    provider: str
    name: str
    pcpus: int
    offered: int


class ReservationTest(test.BaseTestCase):
    """Base class; its users have nothing but the roles that tempest gives."""

    credentials = ['primary', 'admin']

    @classmethod
    def skip_checks(cls):
        """Skip where there is no Nova, or no image."""
        super().skip_checks()
        if not CONF.service_available.nova:
            raise cls.skipException('Nova is not available.')
        if not CONF.compute.image_ref:
            raise cls.skipException('[compute] image_ref is not set.')

    @classmethod
    def setup_credentials(cls):
        """Ask for no network: containers here have none."""
        cls.set_network_resources()
        super().setup_credentials()

    @classmethod
    def setup_clients(cls):
        """Name the clients that every test uses."""
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

        :param more: further extra specs, without their ``hw:cpu.``.
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

    def ask(self, flavor, image=None, hints=None):
        """Ask for a server and return its id."""
        more = {'scheduler_hints': hints} if hints else {}
        server = self.servers.create_server(
            name=data_utils.rand_name('rt'), flavorRef=flavor,
            imageRef=image or CONF.compute.image_ref, networks='none', **more,
        )['server']['id']
        self.addCleanup(self._gone, server)
        return server

    def boot(self, *args, **more):
        """Ask for a server, wait until it is active, return its id."""
        server = self.ask(*args, **more)
        self.settled(server, 'ACTIVE')
        return server

    def settled(self, server, status):
        """Wait until a server has this status and no task is under way."""
        waiters.wait_for_server_status(
            self.servers, server, status, raise_on_error=status != 'ERROR')

    def delete(self, server):
        """Delete a server and wait until it is gone."""
        self.servers.delete_server(server)
        waiters.wait_for_server_termination(
            self.servers, server, ignore_error=True)

    def _gone(self, server):
        test_utils.call_and_ignore_notfound_exc(self.delete, server)

    def reserved(self, server):
        """Return runtime and period that Nova shows for a server, in µs."""
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

        :raises skipException: if there is none.
        """
        client = self.os_admin.resource_providers_client
        providers = client.list_resource_providers(
            resources=f'{RT_SHARE}:1')['resource_providers']
        if not providers:
            raise self.skipException(
                'No host has a share left: does nova-rt-compute run?')
        return [self._host(client, each) for each in providers]

    def _host(self, client, provider):
        inventories = client.list_resource_provider_inventories(
            provider['uuid'])['inventories']
        share = inventories[RT_SHARE]
        return Host(provider['uuid'], provider['name'],
                    inventories['VCPU']['total'],
                    share['total'] - share['reserved'])

    def promised(self, host):
        """Return what Placement has promised of a host's share."""
        usages = self.os_admin.resource_providers_client
        return usages.list_resource_provider_usages(
            host.provider)['usages'][RT_SHARE]
