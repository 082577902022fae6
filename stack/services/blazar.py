# SPDX-License-Identifier: Apache-2.0
"""Blazar: its API and its manager, which leases what flavors ask for."""

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

from stack import ini
from stack.service import Service
from stack.service import Site
from stack.service import WsgiService
from stack.services import keystone
from stack.services import mariadb
from stack.services import rabbitmq

# Hosts whose servers Blazar decides on.
POOL = 'freepool'
# What nova-scheduler has besides: a lease's servers go to its hosts, and no others do.
FILTERS = ('AggregateInstanceExtraSpecsFilter', 'BlazarFilter')
FILTER_CLASS = 'blazarnova.scheduler.filters.blazar_filter.BlazarFilter'


def configuration(site: Site) -> dict[str, dict[str, object]]:
    """Return blazar.conf."""
    clients: dict[str, object] = {'endpoint_type': 'public'}
    return {
        'DEFAULT': {
            'use_stderr': True,
            'transport_url': site.broker,
            'host': '127.0.0.1',
            'os_auth_port': site.port('keystone'),
            'os_admin_username': 'blazar',
            'os_admin_password': site.password,
            'os_admin_project_name': 'service',
            'os_region_name': keystone.REGION,
            **clients,
        },
        'database': {'connection': site.database('blazar')},
        'manager': {'plugins': 'physical.host.plugin,flavor.instance.plugin'},
        'nova': clients,
        'placement': clients,
        'keystone_authtoken': keystone.authtoken(site, 'blazar'),
    }


def conf(site: Site) -> Path:
    """Return the path of blazar.conf."""
    return site.rundir.etc / 'blazar' / 'blazar.conf'


class BlazarSchema(Service):
    """Blazar's configuration and database."""

    name = 'blazar-schema'
    needs_to_prepare = ('mariadb',)

    def prepare(self) -> None:
        """Write blazar.conf and create the schema."""
        ini.write(conf(self.site), configuration(self.site))
        mariadb.create(self.site, 'blazar')
        self.site.processes.run('blazar-schema', (
            self.site.script('blazar-db-manage'), '--config-file', str(conf(self.site)),
            'upgrade', 'head'))


class BlazarIdentity(Service):
    """Blazar's user and endpoint, and the aggregate of its hosts."""

    name = 'blazar-identity'
    needs = ('catalogue', 'nova-api')

    def start(self) -> None:
        """Create them through the APIs."""
        keystone.Identity(self.site).create_service(
            'reservation', 'blazar', 'blazar-api', '/v1')
        keystone.cloud(self.site).compute.create_aggregate(name=POOL)


class BlazarApi(WsgiService):
    """The reservation API."""

    name = 'blazar-api'
    needs = ('blazar-schema', 'blazar-identity', 'rabbitmq')
    application = 'blazar.wsgi.api'

    def environment(self) -> Mapping[str, str]:
        """Return where blazar.conf is."""
        return {'OS_BLAZAR_CONFIG_DIR': str(conf(self.site).parent)}


class BlazarManager(Service):
    """The part that begins and ends leases."""

    name = 'blazar-manager'
    needs = ('blazar-schema', 'blazar-identity', 'rabbitmq', 'placement')

    def command(self) -> Sequence[str]:
        """Return the script's command line."""
        return self.site.script(self.name), '--config-file', str(conf(self.site))

    def ready(self) -> bool:
        """Whether it receives what blazar-api sends."""
        return rabbitmq.is_read(self.site, 'blazar.manager')
