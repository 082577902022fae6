# SPDX-License-Identifier: Apache-2.0
"""A cloud that had no nova-rt: installed into it, removed from it, and looked at."""

import json
import pathlib
import re
import subprocess
import sys

import sqlalchemy as sa

from nova_rt.testing import database_rows
from nova_rt.tests.e2e import driver
from stack import cloud as stack_cloud
from stack import ini
from stack.services import libvirt
from stack.services import nova

CELLS = ('nova', 'nova_cell0')
DATABASES = (*CELLS, 'nova_api', 'placement')
# Whatever nova-rt writes into a row of Nova's has one of these names in it.
OURS = re.compile(r'rt_pcpus|rt_in_place|rt_hint_due|CUSTOM_RT_SHARE|"rt_share')
_SERVICES = ('nova-api', 'nova-scheduler', 'nova-compute')


class Deployment:
    """The stack's Nova, and what an operator does to it.

    :ivar conf: nova.conf
    :ivar paste: api-paste.ini
    """

    def __init__(self, stack: stack_cloud.Cloud) -> None:
        self._stack = stack
        self._operator = driver.connect(stack.environment('admin'))
        etc = stack.site.rundir.etc / 'nova'
        self.conf: pathlib.Path = etc / 'nova.conf'
        self.paste: pathlib.Path = etc / 'api-paste.ini'

    def install(self) -> None:
        """Put nova-rt in, as the operator's guide says."""
        self._stack.site.nova_rt = True
        ini.write(self.conf, ini.merged(
            nova.configuration(self._stack.site), {'rt': {'cap': 0.9}}))
        assert self.manage('paste', 'add', str(self.paste)).returncode == 0
        assert self.manage('db', 'upgrade').returncode == 0
        self._restart('nova-rt-compute')

    def stop(self, conf: bytes) -> None:
        """Stop nova-rt-compute, and configure Nova as it was.

        :param conf: what was in nova.conf
        """
        self._stack.site.processes.stop(['nova-compute'])
        self._force_down(True)
        assert self.manage('paste', 'remove', str(self.paste)).returncode == 0
        self.conf.write_bytes(conf)

    def use_nova_alone(self) -> None:
        """Start Nova's own services."""
        self._stack.site.nova_rt = False
        self._force_down(False)
        self._restart('nova-compute')

    def _restart(self, compute: str) -> None:
        self._stack.site.compute = compute
        for name in _SERVICES:
            self._stack.restart(name)

    def _force_down(self, down: bool) -> None:
        """Tell Nova that the compute service is down, which it would see in minutes."""
        (service,) = self._operator.compute.services(binary='nova-compute')
        self._operator.compute.update_service_forced_down(service, forced=down)

    def manage(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run nova-rt-manage where nova-compute runs."""
        return subprocess.run(
            libvirt.inside(self._stack.site, sys.executable, '-m', 'nova_rt.cmd.manage',
                           '--config-file', str(self.conf), *command),
            capture_output=True, text=True, timeout=300)

    def uninstall(self, *command: str) -> dict[str, str]:
        """Run ``nova-rt-manage uninstall``; return what is nova-rt's and left, by place.

        :raises AssertionError: if the exit status says something else
        """
        done = self.manage('uninstall', *command, '-f', 'json')
        assert done.stdout, done.stderr
        left = {row['place']: row['left'] for row in json.loads(done.stdout)
                if row['whose'] == 'nova-rt'}
        assert done.returncode == bool(left), done.stderr
        return left

    def schemas(self) -> dict[tuple[str, str], str]:
        """Return the statement that creates each table of Nova's and Placement's."""
        found = {}
        for name in DATABASES:
            with self._engine(name).connect() as connection:
                for table in sa.inspect(connection).get_table_names():
                    (row,) = connection.exec_driver_sql(f'SHOW CREATE TABLE `{table}`')
                    found[name, table] = re.sub(r' AUTO_INCREMENT=\d+', '', row[1])
        return found

    def placement(self) -> database_rows.Rows:
        """Return all rows of Placement's database."""
        return database_rows.Reader().rows(self._engine('placement'))

    def rows_with_ours(self) -> list[tuple[str, dict[str, str]]]:
        """Return the rows of Nova's databases that have something of nova-rt in them."""
        reader = database_rows.Reader()
        return [(table, row) for name in DATABASES if name != 'placement'
                for table, rows in reader.rows(self._engine(name)).items()
                for row in rows if any(OURS.search(value) for value in row.values())]

    def _engine(self, name: str) -> sa.Engine:
        return sa.create_engine(self._stack.site.database(name))
