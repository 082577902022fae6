# SPDX-License-Identifier: Apache-2.0
"""Nova's own work on its database, with our columns in place."""

import datetime

import pytest
import sqlalchemy as sa

from nova_rt.tests.e2e.db import deployment as deployments
from nova_rt.tests.e2e.db import population

# Nova's first revision.
FIRST = '8f2f1571d55b'


def test_before_nova_s_tables_it_says_so_and_after_them_they_may_change(
        deployment):
    cell = deployments.CELLS[2]
    deployment.engine.create(cell)
    done = deployment.rt('db', 'upgrade')
    assert done.status == 1
    assert [row['state'] for row in done.rows] == [
        'current', 'current', 'failed']
    assert 'no table compute_nodes: run "nova-manage db sync" first' in (
        done.rows[2]['problem'])
    deployment.configure(deployment.engine.url(deployments.API),
                         deployment.engine.url(cell))
    try:
        deployment.nova('db', 'sync', '--local_cell', FIRST)
        assert deployment.rt('db', 'upgrade').status == 0
        deployment.nova('db', 'sync', '--local_cell')
        # Nova's head has a column that its first revision lacks.
        with deployment.connect(cell) as connection:
            connection.exec_driver_sql('SELECT compute_id FROM instances')
    finally:
        deployment.configure(deployment.engine.url(deployments.API),
                             deployment.engine.url(deployments.CELLS[1]))
    done = deployment.rt('db', 'upgrade')
    assert [row['state'] for row in done.rows] == ['current'] * 3
    with deployment.connect(cell) as connection:
        population.fill(connection, 4, 40)
        assert population.wrong(connection) == []


@pytest.mark.engines('mariadb', 'sqlite')
def test_deleted_rows_are_archived_and_purged(deployment):
    deployment.rt('db', 'upgrade')
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    with deployment.connect() as connection:
        population.fill(connection, 5, 50)
        for table in ('instances', 'instance_extra', 'compute_nodes'):
            connection.execute(
                sa.text(f'UPDATE {table} SET deleted = id, deleted_at = :now'),
                {'now': now})
    said = deployment.nova('db', 'archive_deleted_rows', '--until-complete',
                           '--verbose')
    with deployment.connect() as connection:
        assert counts(connection, '') == [0, 0, 0], said
        assert counts(connection, 'shadow_') == [50, 50, 5]
        assert connection.exec_driver_sql(
            'SELECT flavor FROM shadow_instance_extra').first()
    said = deployment.nova('db', 'purge', '--all', '--verbose')
    with deployment.connect() as connection:
        assert counts(connection, 'shadow_') == [0, 0, 0], said
    assert {row['state'] for row in deployment.rt('db', 'status').rows} == {
        'current'}


@pytest.mark.engines('postgresql')
def test_on_postgresql_nova_archives_what_it_can(deployment):
    """Nova itself cannot archive instances there: its enums differ."""
    deployment.rt('db', 'upgrade')
    with deployment.connect() as connection:
        population.fill(connection, 5, 0)
        connection.exec_driver_sql('UPDATE compute_nodes SET deleted = id')
    said = deployment.nova('db', 'archive_deleted_rows', '--until-complete')
    with deployment.connect() as connection:
        assert counts(connection, '') == [0, 0, 0], said
        assert counts(connection, 'shadow_') == [0, 0, 5]
    deployment.nova('db', 'purge', '--all')
    with deployment.connect() as connection:
        assert counts(connection, 'shadow_') == [0, 0, 0]
    assert {row['state'] for row in deployment.rt('db', 'status').rows} == {
        'current'}


def counts(connection, prefix):
    return [connection.exec_driver_sql(
        f'SELECT count(*) FROM {prefix}{table}').scalar()
        for table in ('instances', 'instance_extra', 'compute_nodes')]
