# SPDX-License-Identifier: Apache-2.0
"""Horizon with nova-rt's panel, in an environment of its own."""

from collections.abc import Sequence
from pathlib import Path
import sys

from stack.errors import StackError
from stack.service import WsgiService

ROOT = Path(__file__).parents[2]
# tox makes it beside the one of the other services: Horizon needs other libraries.
ENVIRONMENT = Path(sys.prefix).with_name('horizon')
ENABLED = ROOT / 'horizon_rt' / 'enabled'
# An operator copies the file of our panel; others use this environment as well.
SETTINGS = """\
# With this name, Horizon's settings do not import it from here in place of their own.
from openstack_dashboard.local import enabled as _local
_local.__path__.append({enabled!r})
ALLOWED_HOSTS = ['127.0.0.1']
SECRET_KEY = {password!r}
LOCAL_PATH = {local!r}
STATIC_ROOT = {static!r}
OPENSTACK_KEYSTONE_URL = {identity!r}
# One process serves all.
CACHES = {{'default': {{'BACKEND': 'django.core.cache.backends.locmem.LocMemCache',
                       'OPTIONS': {{'MAX_ENTRIES': 10000}}}}}}
# Compiling the style sheets takes seconds, for each page.
COMPRESS_OFFLINE = True
SESSION_ENGINE = 'django.contrib.sessions.backends.cache'
"""


class Horizon(WsgiService):
    """The dashboard."""

    name = 'horizon'
    needs = ('catalogue',)
    application = 'openstack_dashboard.wsgi'
    path = '/auth/login/'

    def prepare(self) -> None:
        """Write the settings, and compile the static files.

        :raises StackError: if there is no Horizon
        """
        self._check()
        local = self._home / 'local'
        local.mkdir(parents=True)
        (local / '__init__.py').touch()
        settings = local / 'local_settings.py'
        settings.touch(mode=0o600)
        settings.write_text(SETTINGS.format(
            password=self.site.password, local=str(local), enabled=str(ENABLED),
            static=str(self._static), identity=self.site.url('keystone', '/v3')))
        for step in (('collectstatic', '--no-input'), ('compress', '--force')):
            self.site.processes.run(f'horizon-{step[0]}', (
                str(ENVIRONMENT / 'bin' / 'python'), '-m', 'django', *step, '--verbosity', '0'),
                {'DJANGO_SETTINGS_MODULE': 'openstack_dashboard.settings',
                 'PYTHONPATH': f'{self._home}:{ROOT}'})

    def command(self) -> Sequence[str]:
        """Return uWSGI's command line, with Horizon's environment."""
        command = list(super().command())
        command[command.index('--virtualenv') + 1] = str(ENVIRONMENT)
        return (*command, '--pythonpath', str(self._home), '--pythonpath', str(ROOT),
                '--static-map', f'/static={self._static}')

    @property
    def _home(self) -> Path:
        return self.site.rundir.etc / 'horizon'

    @property
    def _static(self) -> Path:
        return self.site.rundir.data / 'horizon' / 'static'

    def _check(self) -> None:
        if not (ENVIRONMENT / 'bin' / 'python').exists():
            raise StackError(
                f'There is no Horizon in {ENVIRONMENT}: run "tox run -e horizon --notest", '
                'which installs it.')
