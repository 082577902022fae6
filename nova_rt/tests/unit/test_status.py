# SPDX-License-Identifier: Apache-2.0
"""nova-rt-status upgrade check."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import sqlalchemy as sa

from nova_rt import signatures
from nova_rt.api import paste_ini

ROOT = pathlib.Path(__file__).parents[3]
SHIPPED = pathlib.Path(sys.prefix) / 'etc/nova/api-paste.ini'
GOOD = """\
[wsgi]
api_paste_config = {folder}/api-paste.ini
[api_database]
connection = sqlite:///{folder}/api
[database]
connection = sqlite:///{folder}/cell
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = nova_rt.filters.rt_share_filter.RTShareFilter
enabled_filters = ComputeFilter,RTShareFilter
weight_classes = nova_rt.filters.rt_share_weigher.RTShareWeigher
"""


class Deployment:
    """What the checks look at; as it should be but for the databases."""

    def __init__(self, folder):
        self.conf = folder / 'nova.conf'
        self.conf.write_text(GOOD.format(folder=folder))
        self.paste = folder / 'api-paste.ini'
        self.paste.write_text(paste_ini.added(SHIPPED.read_text()))

    def edit(self, old, new):
        text = self.conf.read_text()
        assert old in text
        self.conf.write_text(text.replace(old, new))

    def check(self, *arguments):
        """Return the exit status and the results by name."""
        done = subprocess.run(
            (sys.executable, '-m', 'nova_rt.cmd.status', '--config-file',
             self.conf, *(arguments or ('upgrade', 'check', '--json'))),
            capture_output=True, text=True, cwd=ROOT,
            env={**os.environ, 'PYTHONPATH': str(ROOT)})
        if not done.stdout.startswith('{'):
            return done.returncode, done.stdout + done.stderr
        return done.returncode, {
            each['check']: (each['result'], each['details'])
            for each in json.loads(done.stdout)['checks']}


@pytest.fixture
def deployment(tmp_path):
    return Deployment(tmp_path)


def test_what_is_as_it_should_be_is_a_success(deployment):
    _, results = deployment.check()
    for name in ('Release of Nova', 'Filter of nova-api',
                 'Filter of nova-scheduler'):
        assert results[name] == (0, None)


def test_a_database_that_cannot_be_asked_is_a_failure(deployment):
    status, results = deployment.check()
    code, details = results["Columns in the cells' databases"]
    assert (status, code) == (2, 2)
    assert details.startswith('The API database cannot be read')


def test_cells_without_our_columns_are_a_warning(deployment):
    engine = sa.create_engine(f'sqlite:///{deployment.conf.parent}/api')
    with engine.begin() as connection:
        connection.exec_driver_sql(
            'CREATE TABLE cell_mappings (created_at, updated_at, id INTEGER, '
            'uuid, name, transport_url, database_connection, disabled)')
        connection.exec_driver_sql(
            "INSERT INTO cell_mappings VALUES (NULL, NULL, 1, "
            "'18e5b4cc-1e09-4d0c-a0d7-9f4ad5f5a4c4', 'edge', 'none:///', "
            f"'sqlite:///{deployment.conf.parent}/cell', 0)")
    status, results = deployment.check()
    assert status == 1
    assert results["Columns in the cells' databases"] == (
        1, 'Cells without the newest columns: edge; run "nova-rt-manage db '
           'upgrade". Nothing else needs them.')


@pytest.mark.parametrize(('change', 'check', 'told'), [
    (lambda it: it.paste.write_text(SHIPPED.read_text()),
     'Filter of nova-api', 'paste add'),
    (lambda it: it.paste.unlink(), 'Filter of nova-api', 'where nova-api is'),
    (lambda it: it.edit('ComputeFilter,RTShareFilter', 'ComputeFilter'),
     'Filter of nova-scheduler', 'enabled_filters'),
    (lambda it: it.edit('.RTShareWeigher', '.Other'),
     'Filter of nova-scheduler', 'weight_classes'),
])
def test_what_is_missing_is_a_warning_that_says_what_to_do(
        deployment, change, check, told):
    change(deployment)
    code, details = deployment.check()[1][check]
    assert code == 1
    assert told in details


def test_a_filter_that_cannot_be_loaded_is_a_failure(deployment):
    deployment.edit('available_filters = nova_rt.', 'available_filters = x.')
    deployment.edit('rt_share_filter.RTShareFilter', 'rt_share_filter.Other')
    code, details = deployment.check()[1]['Filter of nova-scheduler']
    assert (code, 'does not start' in details) == (2, True)


def test_a_nova_that_has_changed_is_a_failure(monkeypatch):
    from nova_rt.cmd import status

    monkeypatch.setattr(signatures, 'RELEASES', (1,))
    result = status.Checks().release()
    assert result.code == 2
    assert 'nova-rt knows Nova 1' in result.details


def test_a_configuration_that_is_not_there_is_a_sentence(deployment):
    deployment.conf.unlink()
    status, printed = deployment.check()
    assert status == 255
    assert 'The configuration cannot be read' in printed
    assert 'Traceback' not in printed
