# SPDX-License-Identifier: Apache-2.0
"""Placement."""

from collections.abc import Mapping

from stack import ini
from stack.service import Service
from stack.service import WsgiService
from stack.services import keystone


class PlacementSchema(Service):
    """Placement's configuration and database."""

    name = 'placement-schema'
    needs_to_prepare = ('mariadb',)

    def prepare(self) -> None:
        """Write placement.conf and create the schema."""
        path = self.site.rundir.etc / 'placement' / 'placement.conf'
        ini.write(path, {
            'DEFAULT': {'use_stderr': True},
            'placement_database': {
                'connection': self.site.database('placement')},
            'api': {'auth_strategy': 'keystone'},
            'keystone_authtoken':
                keystone.authtoken(self.site, 'placement'),
        })
        self.site.processes.run('placement-schema', (
            self.site.script('placement-manage'), '--config-file',
            str(path), 'db', 'sync'))


class Placement(WsgiService):
    """The placement API."""

    name = 'placement'
    needs = ('placement-schema',)
    application = 'placement.wsgi.api'

    def environment(self) -> Mapping[str, str]:
        """Return where placement.conf is."""
        return {
            'OS_PLACEMENT_CONFIG_DIR':
                str(self.site.rundir.etc / 'placement')}
