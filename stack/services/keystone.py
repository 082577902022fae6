# SPDX-License-Identifier: Apache-2.0
"""Keystone, its users and its endpoints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography import fernet
from keystoneauth1 import session
from keystoneauth1.identity import v3
import openstack

from stack import ini
from stack.service import Service
from stack.service import Site
from stack.service import WsgiService

REGION = 'RegionOne'

# Type, name (also its user's), and path of the URL in the catalogue.
SERVICES = (
    ('compute', 'nova', 'nova-api', '/v2.1'),
    ('placement', 'placement', 'placement', ''),
    ('image', 'glance', 'glance', ''),
    ('network', 'neutron', 'neutron', ''),
)


def openrc(site: Site, user: str = 'admin') -> dict[str, str]:
    """Return the environment of a user's client.

    :param user: ``admin``, or ``demo``, an ordinary user.
    """
    return {
        'OS_AUTH_URL': site.url('keystone', '/v3'),
        'OS_USERNAME': user,
        'OS_PASSWORD': site.password,
        'OS_PROJECT_NAME': user,
        'OS_USER_DOMAIN_NAME': 'Default',
        'OS_PROJECT_DOMAIN_NAME': 'Default',
        'OS_REGION_NAME': REGION,
        'OS_IDENTITY_API_VERSION': '3',
        'OS_COMPUTE_API_VERSION': '2.100',
    }


def connect(site: Site, user: str = 'admin') -> session.Session:
    """Return a session of a user, in the project of the same name."""
    return session.Session(auth=v3.Password(
        auth_url=site.url('keystone', '/v3'), username=user,
        password=site.password, project_name=user,
        user_domain_name='Default', project_domain_name='Default'))


def cloud(site: Site, user: str = 'admin') -> openstack.connection.Connection:
    """Return the clients of all services, for a user of the stack."""
    return openstack.connection.Connection(session=connect(site, user))


def credentials(site: Site, user: str) -> dict[str, object]:
    """Return the options with which a service authenticates as ``user``."""
    return {
        'auth_type': 'password',
        'auth_url': site.url('keystone', '/v3'),
        'username': user,
        'password': site.password,
        'project_name': 'service',
        'user_domain_name': 'Default',
        'project_domain_name': 'Default',
        'region_name': REGION,
    }


def authtoken(site: Site, user: str) -> dict[str, object]:
    """Return section [keystone_authtoken] of a service."""
    return {
        **credentials(site, user),
        'www_authenticate_uri': site.url('keystone', '/v3'),
        'service_token_roles_required': True,
    }


class KeystoneKeys(Service):
    """The keys of tokens and credentials, created before there is a database."""

    name = 'keystone-keys'

    def prepare(self) -> None:
        """Write keystone.conf and both key repositories."""
        data = self.site.rundir.data / 'keystone'
        path = self.site.rundir.etc / 'keystone' / 'keystone.conf'
        ini.write(path, {
            'DEFAULT': {'use_stderr': True},
            'database': {'connection': self.site.database('keystone')},
            # Of its one process, which would else look up each token's user, project and
            # roles in the database.
            'cache': {'enabled': True, 'backend': 'oslo_cache.dict'},
            'token': {'provider': 'fernet', 'expiration': 86400},
            'fernet_tokens': {'key_repository': data / 'fernet-keys'},
            'fernet_receipts': {'key_repository': data / 'fernet-keys'},
            'credential': {'key_repository': data / 'credential-keys'},
            # A random password needs no slow hash.
            'identity': {'password_hash_rounds': 4},
        })
        for name in ('fernet-keys', 'credential-keys'):
            _make_keys(data / name)


def _make_keys(repository: Path) -> None:
    """Make a key repository, as "keystone-manage fernet_setup" does.

    The highest number is the primary key, 0 the next one's; the command
    takes seconds to start, twice.
    """
    repository.mkdir(parents=True, mode=0o700)
    for number in ('0', '1'):
        path = repository / number
        path.touch(mode=0o600)
        path.write_bytes(fernet.Fernet.generate_key())


class Keystone(WsgiService):
    """The identity API."""

    name = 'keystone'
    needs_to_prepare = ('mariadb', 'keystone-keys')
    application = 'keystone.wsgi.api'
    path = '/v3'

    def prepare(self) -> None:
        """Create the schema, the administrator and Keystone's endpoint."""
        url = self.site.url('keystone', '/v3')
        manage = (
            self.site.script('keystone-manage'), '--config-file',
            str(self.site.rundir.etc / 'keystone' / 'keystone.conf'))
        self.site.processes.run('keystone-schema', (*manage, 'db_sync'))
        self.site.processes.run('keystone-bootstrap', (
            *manage, 'bootstrap', '--bootstrap-public-url', url,
            '--bootstrap-internal-url', url, '--bootstrap-admin-url', url,
            '--bootstrap-region-id', REGION,
        ), {'OS_BOOTSTRAP_PASSWORD': self.site.password})

    def environment(self) -> Mapping[str, str]:
        """Return where keystone.conf is."""
        return {
            'OS_KEYSTONE_CONFIG_DIR':
                str(self.site.rundir.etc / 'keystone')}


class Catalogue(Service):
    """The other services' users and endpoints, created through the API."""

    name = 'catalogue'
    needs = ('keystone',)

    def start(self) -> None:
        """Create the services' users and endpoints, and the user demo."""
        identity = Identity(self.site)
        identity.create_user('demo', identity.create_project('demo'), 'member')
        identity.create_project('service')
        for entry in SERVICES:
            identity.create_service(*entry)
        if self.site.nova_rt:
            # nova-api's own processes answer it, so it needs no user.
            identity.create_endpoint('rt', 'nova-rt', 'nova-api', '/rt')


class Identity:
    """What the administrator creates through the identity API."""

    def __init__(self, site: Site) -> None:
        self._site = site
        # The SDK has version 2 as well; the stack has 3.
        self._identity: Any = cloud(site).identity

    def create_service(
            self, kind: str, name: str, port: str, path: str) -> None:
        """Create a service with its user and its endpoint.

        :param port: the name of its port.
        :param path: of its URL in the catalogue.
        """
        project = self._identity.find_project('service', ignore_missing=False)
        self.create_user(name, project.id, 'admin', 'service')
        self.create_endpoint(kind, name, port, path)

    def create_endpoint(
            self, kind: str, name: str, port: str, path: str) -> None:
        """Create a service with its endpoint, see :meth:`create_service`."""
        service = self._identity.create_service(name=name, type=kind)
        self._identity.create_endpoint(
            service_id=service.id, interface='public', region_id=REGION,
            url=self._site.url(port, path))

    def create_project(self, name: str) -> str:
        """Create a project and return its id."""
        project = self._identity.create_project(
            name=name, domain_id='default')
        return str(project.id)

    def create_user(self, name: str, project: str, *roles: str) -> None:
        """Create a user with roles in a project."""
        user = self._identity.create_user(
            name=name, password=self._site.password, domain_id='default',
            default_project_id=project)
        for role in roles:
            self._identity.assign_project_role_to_user(
                project, user, self._role(role))

    def create_role(self, name: str) -> None:
        """Create a role."""
        self._identity.create_role(name=name)

    def create_domain(self, name: str, administrator: str) -> None:
        """Create a domain and, in it, its administrator."""
        domain = self._identity.create_domain(name=name)
        user = self._identity.create_user(
            name=administrator, password=self._site.password,
            domain_id=domain.id)
        self._identity.assign_domain_role_to_user(
            domain, user, self._role('admin'))

    def _role(self, name: str) -> Any:
        return self._identity.find_role(name, ignore_missing=False)
