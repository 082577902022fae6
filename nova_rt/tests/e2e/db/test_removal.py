# SPDX-License-Identifier: Apache-2.0
"""Nova's rows without what nova-rt has written, on real servers and on SQLite."""

import json
import re

from nova.db.main import models
import pytest
import sqlalchemy as sa

from nova_rt.removal import records
from nova_rt.tests.e2e.db import deployment as deployments
from nova_rt.tests.e2e.db import population

SERVER = '6f70656e-7374-4163-8b2d-6e6f76612d72'
OWN = {'hw:mem_page_size': 'any'}
MERGED = {**OWN, 'hw:cpu.rt_runtime_us': '5', 'resources:CUSTOM_RT_SHARE': '52'}


def flavor(extra_specs):
    return population._flavor_template().replace('"CUR"', json.dumps(extra_specs)).replace(
        '"OLD"', '{}')


def test_what_is_ours_in_nova_s_rows_is_found_and_removed(deployment):
    with deployment.connect() as cell, deployment.connect(deployments.API) as api:
        for model, row in (
                (models.Instance, {'uuid': SERVER, 'display_name': 'a', 'deleted': 0}),
                (models.InstanceExtra, {
                    'instance_uuid': SERVER, 'flavor': flavor(MERGED), 'deleted': 0}),
                (models.InstanceSystemMetadata, {
                    'instance_uuid': SERVER, 'key': 'rt_pcpus', 'value': '3', 'deleted': 0}),
                (models.ComputeNode, population._node(1, '{"a": "0", "rt_share": "1"}'))):
            cell.execute(model.__table__.insert(), row)
        assert [server.uuid for server in records.servers(cell)] == [SERVER]
        assert [node.host for node in records.nodes(cell)] == ['host1']
        records.forget_server(cell, api, SERVER, lambda _: OWN)
        records.forget_unreported(cell, set())
        assert (records.servers(cell), records.nodes(cell)) == ([], [])
        extra = cell.exec_driver_sql('SELECT flavor FROM instance_extra').scalar()
        assert json.loads(extra)['cur']['nova_object.data']['extra_specs'] == {
            name: value for name, value in MERGED.items() if name != 'resources:CUSTOM_RT_SHARE'}
        assert cell.exec_driver_sql('SELECT stats FROM compute_nodes').scalar() == '{"a": "0"}'


def statements(deployment):
    """Return the statement that creates each table of a cell."""
    with deployment.connect() as cell:
        return {name: re.sub(r' AUTO_INCREMENT=\d+', '', cell.exec_driver_sql(
                    f'SHOW CREATE TABLE `{name}`').one()[1])
                for name in sa.inspect(cell).get_table_names()}


@pytest.mark.engines('mariadb')
def test_without_the_columns_each_table_is_as_nova_created_it(deployment):
    before = statements(deployment)
    assert deployment.rt('db', 'upgrade').status == 0
    assert statements(deployment) != before
    assert deployment.rt('db', 'downgrade').status == 0
    assert statements(deployment) == before
