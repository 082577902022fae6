# SPDX-License-Identifier: Apache-2.0
"""Aodh: its API, and what evaluates alarms by Prometheus and acts on them."""

from collections.abc import Mapping
from collections.abc import Sequence
import json
from pathlib import Path

from stack import ini
from stack.service import Service
from stack.service import Site
from stack.service import WsgiService
from stack.services import keystone
from stack.services import mariadb
from stack.services import rabbitmq


def configuration(site: Site) -> dict[str, dict[str, object]]:
    """Return aodh.conf."""
    return {
        'DEFAULT': {'use_stderr': True, 'transport_url': site.broker},
        'database': {'connection': site.database('aodh')},
        'keystone_authtoken': keystone.authtoken(site, 'aodh'),
        # It asks Prometheus in its own name, and acts by its users' trusts.
        'service_credentials': keystone.credentials(site, 'aodh'),
        # Seconds; a minute is the default.
        'evaluator': {'evaluation_interval': 2},
    }


def home(site: Site) -> Path:
    """Return the home directory of its processes: nothing else tells its API where to look."""
    return site.rundir.etc / 'aodh'


class AodhSchema(Service):
    """Aodh's configuration and database."""

    name = 'aodh-schema'
    needs_to_prepare = ('mariadb',)

    def prepare(self) -> None:
        """Write its files and create the schema."""
        where = home(self.site)
        ini.write(where / '.aodh' / 'aodh.conf', configuration(self.site))
        prometheus = where / '.config' / 'openstack' / 'prometheus.yaml'
        prometheus.parent.mkdir(parents=True)
        # JSON is YAML.
        prometheus.write_text(json.dumps(
            {'host': '127.0.0.1', 'port': self.site.port('prometheus')}))
        mariadb.create(self.site, 'aodh')
        self.site.processes.run('aodh-schema', (self.site.script('aodh-dbsync'),),
                                {'HOME': str(where)})


class AodhIdentity(Service):
    """Aodh's user and endpoint."""

    name = 'aodh-identity'
    needs = ('catalogue',)

    def start(self) -> None:
        """Create them through the identity API."""
        keystone.Identity(self.site).create_service('alarming', 'aodh', 'aodh-api', '')


class AodhApi(WsgiService):
    """The alarming API."""

    name = 'aodh-api'
    needs = ('aodh-schema', 'aodh-identity', 'rabbitmq')
    application = 'aodh.wsgi.api'

    def environment(self) -> Mapping[str, str]:
        """Return where aodh.conf is."""
        return {'HOME': str(home(self.site))}


class AodhProcess(Service):
    """A part of Aodh that is a script of this name."""

    needs = ('aodh-schema', 'aodh-identity', 'rabbitmq')

    def command(self) -> Sequence[str]:
        """Return the script's command line."""
        return (self.site.script(self.name),)

    def environment(self) -> Mapping[str, str]:
        """Return where aodh.conf and the address of Prometheus are."""
        return {'HOME': str(home(self.site))}


class AodhNotifier(AodhProcess):
    """The part that does what alarms say."""

    name = 'aodh-notifier'

    def ready(self) -> bool:
        """Whether it receives what the evaluator sends."""
        return rabbitmq.is_read(self.site, 'alarming.sample')


class AodhEvaluator(AodhProcess):
    """The part that asks Prometheus; a Prometheus may come and go."""

    name = 'aodh-evaluator'
