# SPDX-License-Identifier: Apache-2.0
"""Tacker: its API, its conductor, and this OpenStack as its VIM."""

from collections.abc import Sequence
from pathlib import Path
import sys

from stack import ini
from stack.service import answers
from stack.service import Service
from stack.service import Site
from stack.services import keystone
from stack.services import mariadb
from stack.services import rabbitmq

VIM_OWNER = 'demo'


def configuration(site: Site) -> dict[str, dict[str, object]]:
    """Return tacker.conf."""
    data = site.rundir.data / 'tacker'
    url = site.url('tacker-server')
    return {
        'DEFAULT': {
            'use_stderr': True,
            'transport_url': site.broker,
            'state_path': data,
            'bind_host': '127.0.0.1',
            'bind_port': site.port('tacker-server'),
            'api_workers': 1,
            'api_paste_config': Path(sys.prefix) / 'etc/tacker/api-paste.ini',
            'auth_strategy': 'keystone',
            'crypt_key_dir': data / 'crypt',
        },
        'database': {'connection': site.database('tacker')},
        'keystone_authtoken': keystone.authtoken(site, 'tacker'),
        # Where VNFs run is encrypted with keys in a directory: there is no
        # Barbican.
        'vim_keys': {'openstack': data / 'vim-keys', 'use_barbican': False},
        'vnf_package': {'vnf_package_csar_path': f'{data}/packages/'},
        'glance_store': {
            'default_backend': 'file',
            'filesystem_store_datadir': data / 'csar'},
        'vnf_lcm': {'endpoint_url': url},
        'v2_vnfm': {'endpoint': url},
        'coordination': {'backend_url': f'file://{data}/locks'},
        # Who posts an alert is not asked who they are: the port is on loopback.
        'prometheus_plugin': {
            'auto_healing': True,
            'auto_healing_package': 'tacker_rt.auto_healing',
            'auto_healing_class': 'AutoHealing',
            'timer_interval': 1},
        'nova_rt': {'raise_percent': 50},
    }


def conf(site: Site) -> str:
    """Return the path of tacker.conf."""
    return str(site.rundir.etc / 'tacker' / 'tacker.conf')


class TackerSchema(Service):
    """Tacker's configuration and database."""

    name = 'tacker-schema'
    needs_to_prepare = ('mariadb',)

    def prepare(self) -> None:
        """Write tacker.conf and create the schema."""
        data = self.site.rundir.data / 'tacker'
        for name in ('crypt', 'vim-keys', 'packages', 'csar', 'locks'):
            (data / name).mkdir(parents=True)
        ini.write(Path(conf(self.site)), configuration(self.site))
        mariadb.create(self.site, 'tacker')
        self.site.processes.run('tacker-schema', (
            self.site.script('tacker-db-manage'), '--config-file',
            conf(self.site), 'upgrade', 'head'))


class TackerIdentity(Service):
    """Tacker's user and endpoint."""

    name = 'tacker-identity'
    needs = ('catalogue',)

    def start(self) -> None:
        """Create them through the identity API."""
        keystone.Identity(self.site).create_service(
            'nfv-orchestration', 'tacker', 'tacker-server', '')


class TackerServer(Service):
    """The API of packages and VNFs."""

    name = 'tacker-server'
    needs = ('tacker-schema', 'tacker-identity', 'rabbitmq')

    def command(self) -> Sequence[str]:
        """Return the script's command line."""
        return (self.site.script(self.name), '--config-file',
                conf(self.site))

    def ready(self) -> bool:
        """Whether it answers."""
        return answers(self.site.url(self.name))


class TackerConductor(Service):
    """The part that drives Heat."""

    name = 'tacker-conductor'
    needs = ('tacker-schema', 'tacker-identity', 'rabbitmq')

    def command(self) -> Sequence[str]:
        """Return the script's command line."""
        return (self.site.script(self.name), '--config-file',
                conf(self.site))

    def ready(self) -> bool:
        """Whether it receives what tacker-server sends, in both versions."""
        return all(rabbitmq.is_read(self.site, queue) for queue in (
            'TACKER_CONDUCTOR', 'TACKER_CONDUCTOR_V2'))


class Vim(Service):
    """This OpenStack, as the default VIM for VNFs."""

    name = 'vim'
    needs = ('tacker-server', 'heat-api', 'heat-engine')

    def start(self) -> None:
        """Register it for an ordinary user: a VIM belongs to a project."""
        keystone.connect(self.site, VIM_OWNER).post(
            '/v1.0/vims', endpoint_filter={
                'service_type': 'nfv-orchestration'},
            json={'vim': {
                'name': 'this', 'type': 'openstack', 'is_default': True,
                'auth_url': self.site.url('keystone', '/v3'),
                'vim_project': {
                    'name': VIM_OWNER, 'project_domain_name': 'Default'},
                'auth_cred': {
                    'username': VIM_OWNER, 'password': self.site.password,
                    'user_domain_name': 'Default'},
            }})
