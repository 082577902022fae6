# SPDX-License-Identifier: Apache-2.0
"""Heat: its API, one engine, and the domain of the users it creates."""

from collections.abc import Sequence
from pathlib import Path
import secrets
import sys

from stack import ini
from stack.service import Service
from stack.service import Site
from stack.service import WsgiService
from stack.services import keystone
from stack.services import mariadb
from stack.services import rabbitmq

DOMAIN = 'heat'
DOMAIN_ADMIN = 'heat_domain_admin'
STACK_USER = 'heat_stack_user'


def configuration(site: Site) -> dict[str, dict[str, object]]:
    """Return heat.conf."""
    shipped = Path(sys.prefix) / 'etc' / 'heat'
    user = keystone.credentials(site, 'heat')
    return {
        'DEFAULT': {
            'use_stderr': True,
            'transport_url': site.broker,
            'num_engine_workers': 1,
            'environment_dir': shipped / 'environment.d',
            'template_dir': shipped / 'templates',
            'region_name_for_services': keystone.REGION,
            'auth_encryption_key': secrets.token_hex(16),
            'stack_user_domain_name': DOMAIN,
            'stack_domain_admin': DOMAIN_ADMIN,
            'stack_domain_admin_password': site.password,
            'heat_stack_user_role': STACK_USER,
            # Nova tries other hosts itself, and would refuse a retry again.
            'action_retry_limit': 0,
            # cfn tools would need the CFN API and a metadata server.
            'default_user_data_format': 'RAW',
        },
        'paste_deploy': {'api_paste_config': shipped / 'api-paste.ini'},
        'database': {'connection': site.database('heat')},
        'clients_keystone': {'auth_uri': site.url('keystone')},
        'keystone_authtoken': keystone.authtoken(site, 'heat'),
        # Trusts are given to this user; it acts for others only.
        'trustee': {key: value for key, value in user.items()
                    if not key.startswith('project')},
    }


def conf(site: Site) -> str:
    """Return the path of heat.conf."""
    return str(site.rundir.etc / 'heat' / 'heat.conf')


class HeatSchema(Service):
    """Heat's configuration and database."""

    name = 'heat-schema'
    needs_to_prepare = ('mariadb',)

    def prepare(self) -> None:
        """Write heat.conf and create the schema."""
        ini.write(Path(conf(self.site)), configuration(self.site))
        mariadb.create(self.site, 'heat')
        self.site.processes.run('heat-schema', (
            self.site.script('heat-manage'), '--config-file',
            conf(self.site), 'db_sync'))


class HeatIdentity(Service):
    """Heat's user and endpoint, and the domain of the users it creates."""

    name = 'heat-identity'
    needs = ('catalogue',)

    def start(self) -> None:
        """Create them through the identity API."""
        identity = keystone.Identity(self.site)
        identity.create_service(
            'orchestration', 'heat', 'heat-api', '/v1/%(tenant_id)s')
        identity.create_role(STACK_USER)
        identity.create_domain(DOMAIN, DOMAIN_ADMIN)


class HeatApi(WsgiService):
    """The orchestration API."""

    name = 'heat-api'
    needs = ('heat-schema', 'rabbitmq')
    application = 'heat.wsgi.api'

    def arguments(self) -> Sequence[str]:
        """Return where heat.conf is."""
        return ('--config-file', conf(self.site))


class HeatEngine(Service):
    """The part that creates what templates ask for."""

    name = 'heat-engine'
    needs = ('heat-schema', 'heat-identity', 'rabbitmq')

    def command(self) -> Sequence[str]:
        """Return the script's command line."""
        return (self.site.script(self.name), '--config-file',
                conf(self.site))

    def ready(self) -> bool:
        """Whether it receives what heat-api sends."""
        return rabbitmq.is_read(self.site, 'engine')
