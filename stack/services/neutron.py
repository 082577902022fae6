# SPDX-License-Identifier: Apache-2.0
"""Neutron: ML2 with Open vSwitch, its API and the agents of one host."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from pathlib import Path
import sys
from typing import Any

from stack import ini
from stack.service import Service
from stack.service import Site
from stack.service import WsgiService
from stack.services import keystone
from stack.services import libvirt
from stack.services import mariadb
from stack.services import openvswitch
from stack.services import rabbitmq

# The flat network of the outside, as Neutron's configuration calls it.
PHYSICAL = 'provider'
# Each part that needs privileges starts a helper for them.
HELPERS = (
    'privsep', 'privsep_conntrack', 'privsep_dhcp_release', 'privsep_link',
    'privsep_namespace', 'privsep_ovs_vsctl', 'vif_plug_ovs_privileged',
)


def configuration(site: Site) -> dict[str, dict[str, object]]:
    """Return neutron.conf, of the server and of the agents."""
    return ini.merged(_server(site), _ml2(), _agents(site))


def _server(site: Site) -> dict[str, dict[str, object]]:
    data = site.rundir.data / 'neutron'
    return {
        'DEFAULT': {
            'use_stderr': True,
            'transport_url': site.broker,
            'state_path': data,
            'auth_strategy': 'keystone',
            'core_plugin': 'ml2',
            'service_plugins': 'router',
            'api_paste_config':
                Path(sys.prefix) / 'etc' / 'neutron' / 'api-paste.ini',
            'rpc_workers': 1,
            'rpc_state_report_workers': 0,
            'rpc_response_timeout': 30,
        },
        'database': {'connection': site.database('neutron')},
        'keystone_authtoken': keystone.authtoken(site, 'neutron'),
        'nova': keystone.credentials(site, 'neutron'),
        'oslo_concurrency': {'lock_path': data / 'lock'},
    }


def _ml2() -> dict[str, dict[str, object]]:
    return {
        'ml2': {
            'type_drivers': 'flat,vlan',
            'tenant_network_types': 'vlan',
            'mechanism_drivers': 'openvswitch',
            'extension_drivers': 'port_security',
        },
        'ml2_type_flat': {'flat_networks': PHYSICAL},
        'ml2_type_vlan': {'network_vlan_ranges': f'{PHYSICAL}:1:1000'},
        'securitygroup': {'firewall_driver': 'openvswitch'},
    }


def _agents(site: Site) -> dict[str, dict[str, object]]:
    helper = f'{site.script("privsep-helper")} --config-file {conf(site)}'
    return {
        'DEFAULT': {
            'interface_driver': 'openvswitch',
            'dnsmasq_config_file': dnsmasq_conf(site),
            # Neither goes to the outside, where nobody asks for them.
            'enable_isolated_metadata': False,
            'enable_metadata_network': False,
        },
        'agent': {
            # Everything runs as root already.
            'root_helper': '',
            'report_interval': 2,
        },
        'ovs': {
            'bridge_mappings': f'{PHYSICAL}:{openvswitch.PROVIDER}',
            'datapath_type': 'netdev',
            'of_listen_port': site.port('openflow'),
            'ovsdb_connection': openvswitch.SOCKET,
        },
        **{section: {'helper_command': helper} for section in HELPERS},
    }


def agents(site: Site, binary: str, **where: str) -> Iterator[Any]:
    """Return openstacksdk's agents of a kind, as Neutron reports them.

    :param where: only those of this ``host``
    """
    agents: Iterator[Any] = keystone.cloud(site).network.agents(
        binary=binary, **where)
    return agents


def conf(site: Site) -> str:
    """Return the path of neutron.conf."""
    return str(site.rundir.etc / 'neutron' / 'neutron.conf')


def dnsmasq_conf(site: Site) -> Path:
    """Return the path of dnsmasq's options beyond those that Neutron sets."""
    return site.rundir.etc / 'neutron' / 'dnsmasq.conf'


class NeutronSchema(Service):
    """Neutron's configuration and database."""

    name = 'neutron-schema'
    needs_to_prepare = ('mariadb',)

    def prepare(self) -> None:
        """Write neutron.conf and create the schema."""
        data = self.site.rundir.data / 'neutron'
        # No less private than the home of root, under which it may be.
        data.mkdir(mode=0o700)
        (data / 'lock').mkdir()
        ini.write(Path(conf(self.site)), configuration(self.site))
        # As nobody it could not read there who gets which address.
        dnsmasq_conf(self.site).write_text('user=root\n')
        mariadb.create(self.site, 'neutron')
        self.site.processes.run('neutron-schema', (
            self.site.script('neutron-db-manage'), '--config-file',
            conf(self.site), 'upgrade', 'heads'))


class Neutron(WsgiService):
    """The network API."""

    name = 'neutron'
    needs = ('neutron-schema', 'rabbitmq', 'catalogue')
    application = 'neutron.wsgi.api'

    def environment(self) -> Mapping[str, str]:
        """Return where neutron.conf is."""
        return {
            'OS_NEUTRON_CONFIG_DIR': str(self.site.rundir.etc / 'neutron'),
            'OS_NEUTRON_CONFIG_FILES': 'neutron.conf'}


class NeutronProcess(Service):
    """A part of Neutron without an HTTP API, reached by messages."""

    def command(self) -> Sequence[str]:
        """Return the script's command line."""
        return (self.site.script(self.name), '--config-file',
                conf(self.site))


class NeutronRpc(NeutronProcess):
    """The part that answers the agents."""

    name = 'neutron-rpc-server'
    needs = ('neutron-schema', 'rabbitmq')

    def ready(self) -> bool:
        """Whether it receives what agents send."""
        return rabbitmq.is_read(self.site, 'q-plugin')


class NeutronAgent(NeutronProcess):
    """A part that carries out on this host what Neutron decides."""

    needs: tuple[str, ...] = (
        'neutron', 'neutron-rpc-server', 'ports-up', 'catalogue')

    def command(self) -> Sequence[str]:
        """Return the command line, in libvirt's mount namespace."""
        return libvirt.inside(self.site, *super().command())

    def start(self) -> None:
        """See base class; what it reported before does not count."""
        self._started = datetime.datetime.now(datetime.UTC)
        super().start()

    def ready(self) -> bool:
        """Whether it reported to Neutron since its start."""
        return any(
            datetime.datetime.fromisoformat(agent.last_heartbeat_at)
            .replace(tzinfo=datetime.UTC) >= self._started.replace(
                microsecond=0)
            for agent in agents(self.site, self.name))


class OvsAgent(NeutronAgent):
    """The part that connects ports and guards them."""

    name = 'neutron-openvswitch-agent'


class DhcpAgent(NeutronAgent):
    """The part that gives containers their addresses."""

    name = 'neutron-dhcp-agent'


class Networks(Service):
    """The external network, which every user may use."""

    name = 'networks'
    needs = ('neutron-openvswitch-agent', 'neutron-dhcp-agent')

    def start(self) -> None:
        """Create it and its subnet, as the administrator."""
        client = keystone.cloud(self.site).network
        network = client.create_network(
            name=PHYSICAL, is_shared=True, is_router_external=True,
            provider_network_type='flat', provider_physical_network=PHYSICAL)
        prefix = openvswitch.ADDRESS.rpartition('.')[0]
        client.create_subnet(
            name=PHYSICAL, network_id=network.id, ip_version=4,
            cidr=f'{prefix}.0/{openvswitch.PREFIX}',
            gateway_ip=openvswitch.ADDRESS,
            allocation_pools=[
                {'start': f'{prefix}.10', 'end': f'{prefix}.250'}])
