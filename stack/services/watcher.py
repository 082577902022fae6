# SPDX-License-Identifier: Apache-2.0
"""Watcher: its API, what plans, and what carries plans out."""

from collections.abc import Sequence
from pathlib import Path

from stack import ini
from stack.service import Service
from stack.service import Site
from stack.service import WsgiService
from stack.services import keystone
from stack.services import mariadb
from stack.services import rabbitmq


def configuration(site: Site) -> dict[str, dict[str, object]]:
    """Return watcher.conf."""
    return {
        'DEFAULT': {'use_stderr': True, 'transport_url': site.broker,
                    'state_path': site.rundir.data / 'watcher'},
        'database': {'connection': site.database('watcher')},
        'keystone_authtoken': keystone.authtoken(site, 'watcher'),
        'watcher_clients_auth': keystone.credentials(site, 'watcher'),
        'keystone': {'valid_interfaces': 'public', 'region_name': keystone.REGION},
        # Seconds between two looks at a migration; five are the default.
        'nova': {'valid_interfaces': 'public', 'region_name': keystone.REGION,
                 'migration_interval': 0.5},
        'collector': {'collector_plugins': 'compute'},
        'oslo_concurrency': {'lock_path': site.rundir.data / 'watcher' / 'locks'},
    }


def home(site: Site) -> Path:
    """Return the folder of its configuration."""
    return site.rundir.etc / 'watcher'


def arguments(site: Site) -> tuple[str, ...]:
    """Return what names the configuration on a command line."""
    return ('--config-file', str(home(site) / 'watcher.conf'))


class WatcherSchema(Service):
    """Watcher's configuration and database."""

    name = 'watcher-schema'
    needs_to_prepare = ('mariadb',)

    def prepare(self) -> None:
        """Write watcher.conf and create the schema."""
        (self.site.rundir.data / 'watcher' / 'locks').mkdir(parents=True, exist_ok=True)
        ini.write(home(self.site) / 'watcher.conf', configuration(self.site))
        mariadb.create(self.site, 'watcher')
        self.site.processes.run('watcher-schema', (
            self.site.script('watcher-db-manage'), *arguments(self.site), 'create_schema'))


class WatcherIdentity(Service):
    """Watcher's user and endpoint."""

    name = 'watcher-identity'
    needs = ('catalogue',)

    def start(self) -> None:
        """Create them through the identity API."""
        keystone.Identity(self.site).create_service('infra-optim', 'watcher', 'watcher-api', '')


class WatcherApi(WsgiService):
    """The API of audits and action plans."""

    name = 'watcher-api'
    needs = ('watcher-schema', 'watcher-identity', 'rabbitmq')
    application = 'watcher.wsgi.api'

    def arguments(self) -> Sequence[str]:
        """Return where watcher.conf is."""
        return arguments(self.site)


class WatcherProcess(Service):
    """A part of Watcher that is a script of this name.

    ``queue`` is what it receives from when it is ready.
    """

    needs = ('watcher-schema', 'watcher-identity', 'rabbitmq', 'nova-api')
    queue = ''

    def command(self) -> Sequence[str]:
        """Return the script's command line."""
        return (self.site.script(self.name), *arguments(self.site))

    def ready(self) -> bool:
        """Whether it receives what the API sends."""
        return rabbitmq.is_read(self.site, self.queue)


class WatcherDecisionEngine(WatcherProcess):
    """The part that carries out audits."""

    name = 'watcher-decision-engine'
    queue = 'watcher.decision.control'


class WatcherApplier(WatcherProcess):
    """The part that carries out plans."""

    name = 'watcher-applier'
    queue = 'watcher.applier.control'
