# SPDX-License-Identifier: Apache-2.0
"""A VNF through Tacker."""

from pathlib import Path

from tempest import config
from tempest.lib import decorators
from tempest.lib.common.utils import test_utils

from nova_rt_tempest_plugin import tacker
from nova_rt_tempest_plugin.tests import base

CONF = config.CONF
PATIENCE_S = 400
USER_DATA = 'lcm-operation-user-data'


def _links():
    """Return the VNF's external links in the format of SOL003."""
    if not CONF.nova_rt.vnf_network_id:
        return []
    protocol = {
        'layerProtocol': 'IP_OVER_ETHERNET', 'ipOverEthernet': {
            'ipAddresses': [{'type': 'IPV4', 'numDynamicAddresses': 1}]}}
    return [{
        'id': 'outside', 'resourceId': CONF.nova_rt.vnf_network_id,
        'extCps': [{
            'cpdId': CONF.nova_rt.vnf_connection_point,
            'cpConfig': {'any': {'cpProtocolData': [protocol]}}}]}]


class VnfTest(base.ReservationTest):
    """Instantiates the VNF package that tempest.conf names."""

    @classmethod
    def skip_checks(cls):
        """Skip if there is no package to instantiate."""
        super().skip_checks()
        if not CONF.nova_rt.vnf_package:
            raise cls.skipException('[nova_rt] vnf_package is not set.')

    @classmethod
    def setup_clients(cls):
        """Find Tacker in the catalogue."""
        super().setup_clients()
        cls.tacker = tacker.Client(
            cls.os_primary.auth_provider, 'nfv-orchestration',
            CONF.identity.region)

    def _until(self, condition, what):
        if not test_utils.call_until_true(condition, PATIENCE_S, 2):
            self.fail(f'Not within {PATIENCE_S} s: {what}')

    def _flavor_of_package(self):
        listed = self.flavors.list_flavors()['flavors']
        if CONF.nova_rt.vnf_flavor not in [flavor['name'] for flavor in listed]:
            flavor = self.flavors.create_flavor(
                name=CONF.nova_rt.vnf_flavor, ram=64, vcpus=2, disk=1,
            )['flavor']['id']
            self.addCleanup(self.flavors.delete_flavor, flavor)

    def _onboard(self):
        """Upload the package and return its VNFD's id."""
        package = self.tacker.create_package()
        self.addCleanup(self.tacker.delete_package, package)
        self.tacker.upload_package(
            package, Path(CONF.nova_rt.vnf_package).read_bytes())
        self._until(
            lambda: self.tacker.show_package(package)['onboardingState']
            == 'ONBOARDED', 'the package is onboarded')
        return self.tacker.show_package(package)['vnfdId']

    def _wait_for_state(self, vnf, state):
        """Wait for a VNF's state; fail at once with Tacker's own reason."""
        def reached():
            for operation in self.tacker.operations(vnf):
                self.assertNotEqual(
                    'FAILED_TEMP', operation['operationState'], operation)
            return self.tacker.show_vnf(vnf)['instantiationState'] == state
        self._until(reached, f'the VNF is {state}')

    def _end(self, vnf):
        if self.tacker.show_vnf(vnf)['instantiationState'] == 'INSTANTIATED':
            self.tacker.start(vnf, 'terminate', {'terminationType': 'FORCEFUL'})
            self._wait_for_state(vnf, 'NOT_INSTANTIATED')
        self.tacker.delete_vnf(vnf)

    @decorators.idempotent_id('5f4e3d2c-1b0a-4f9e-8d7c-6b5a4f3e2d51')
    def test_servers_of_a_vnf_have_the_reservations_of_its_descriptor(self):
        self._flavor_of_package()
        vim = self.tacker.register_vim(
            self.os_primary.credentials, CONF.identity.uri_v3)
        self.addCleanup(self.tacker.delete_vim, vim)
        vnf = self.tacker.create_vnf(self._onboard())
        self.addCleanup(self._end, vnf)
        self.tacker.start(vnf, 'instantiate', {
            'flavourId': 'simple', 'extVirtualLinks': _links(),
            'additionalParams': {
                USER_DATA: CONF.nova_rt.vnf_user_data,
                f'{USER_DATA}-class': CONF.nova_rt.vnf_user_data_class}})
        self._wait_for_state(vnf, 'INSTANTIATED')
        info = self.tacker.show_vnf(vnf)['instantiatedVnfInfo']
        servers = [vnfc['computeResource']['resourceId']
                   for vnfc in info['vnfcResourceInfo']]
        specs = [self.servers.show_server(server)['server']['flavor'][
            'extra_specs'] for server in servers]
        self.assertTrue(
            any('hw:cpu.rt_runtime_us' in flavor for flavor in specs), specs)
