# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a database is one sentence, and running again helps."""

import contextlib
import time

import pytest
import sqlalchemy as sa
from sqlalchemy import pool

from nova_rt.tests.e2e.db import deployment as deployments
from nova_rt.tests.e2e.db import population

ON_SERVERS = pytest.mark.engines('mariadb', 'postgresql')


@contextlib.contextmanager
def transaction(deployment, statement='SELECT * FROM instance_extra'):
    """Hold a table as a transaction of Nova's does."""
    engine = sa.create_engine(deployment.engine.url(deployments.CELLS[1]),
                              poolclass=pool.NullPool)
    with engine.connect() as connection:
        if connection.dialect.name == 'sqlite':
            # Its driver begins a transaction only to write.
            connection.exec_driver_sql('BEGIN IMMEDIATE')
        connection.exec_driver_sql(statement).all()
        with contextlib.suppress(sa.exc.OperationalError):
            yield
            connection.rollback()


def problems(done):
    """Return the sentence for each cell that failed."""
    assert done.status == 1
    return {row['cell']: row['problem'] for row in done.rows
            if row['state'] == 'failed'}


def waits_for_a_lock(deployment):
    """Return whether somebody waits until a transaction ends."""
    with deployment.connect() as connection:
        if connection.dialect.name == 'postgresql':
            return connection.exec_driver_sql(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
                "'ALTER TABLE%%' AND wait_event_type = 'Lock'").scalar()
        return any('metadata lock' in str(row) for row in
                   connection.exec_driver_sql('SHOW PROCESSLIST'))


def test_a_table_in_use_for_too_long_is_said_and_nothing_else_is_held_up(
        deployment):
    with transaction(deployment):
        done = deployment.rt('db', 'upgrade', '--wait', '1')
    said = problems(done)
    assert set(said) == {'cell1'}
    assert 'in use for longer than --wait: try again' in said['cell1']
    assert deployment.rt('db', 'upgrade').status == 0


@ON_SERVERS
def test_a_server_killed_halfway_is_said_and_running_again_completes(
        deployment):
    with deployment.connect() as connection:
        population.fill(connection, 20, 200)
    with transaction(deployment):
        upgrade = deployment.start('db', 'upgrade')
        while not waits_for_a_lock(deployment):
            assert upgrade.poll() is None
            time.sleep(0.05)
        deployment.engine.kill()
        said = problems(deployments.ended(upgrade))
    try:
        # The cell after that cannot even be reached.
        assert set(said) == {'cell1', 'cell2'}
        assert all('the server is away: start it and run this again' in each
                   for each in said.values())
    finally:
        deployment.engine.start()
    # Halfway: one table has its columns, the other not.
    with deployment.connect() as connection:
        assert 'rt_share' in columns(connection, 'compute_nodes')
        assert 'rt_period_us' not in columns(connection, 'instance_extra')
    # It can be completed, and it can be taken back.
    deployment.rt('db', 'downgrade')
    with deployment.connect() as connection:
        assert 'rt_share' not in columns(connection, 'compute_nodes')
    done = deployment.rt('db', 'upgrade')
    assert [row['state'] for row in done.rows] == ['current'] * 3
    with deployment.connect() as connection:
        assert population.wrong(connection) == []


@ON_SERVERS
def test_a_user_who_may_not_alter_is_told_so(deployment):
    name = deployments.CELLS[1]
    if deployment.engine.name == 'mariadb':
        deployment.engine.administer(
            "CREATE OR REPLACE USER reader@'127.0.0.1' IDENTIFIED BY 'x'",
            f"GRANT SELECT, CREATE TEMPORARY TABLES ON {name}.* "
            "TO reader@'127.0.0.1'")
    else:
        deployment.engine.administer(
            'DROP ROLE IF EXISTS reader', 'CREATE ROLE reader LOGIN')
    url = sa.make_url(deployment.engine.url(name)).set(
        username='reader', password='x').render_as_string(False)
    with cell1_at(deployment, url):
        said = problems(deployment.rt('db', 'upgrade'))
    assert set(said) == {'cell1'}
    assert 'the user of this database may not do that: grant it' in (
        said['cell1'])


@ON_SERVERS
@pytest.mark.parametrize(('change', 'expected'), [
    ({'port': 1}, 'the server is away: start it'),
    ({'database': 'nowhere'}, 'there is no such database'),
    ({'drivername': 'mysql+nodriver'}, 'no driver for this database'),
    ({'drivername': 'oracle+oracledb'}, 'no driver for this database'),
])
def test_a_wrong_address_is_said_and_its_password_is_not(
        deployment, change, expected):
    url = sa.make_url(deployment.engine.url(deployments.CELLS[1]))
    password = url.password or 'secret'
    url = url.set(password=password, **change).render_as_string(False)
    with cell1_at(deployment, url):
        done = deployment.rt('db', 'status')
    assert expected in problems(done)['cell1']
    assert password not in str(done)


def test_an_address_that_is_none_is_said(deployment):
    with cell1_at(deployment, 'somewhere'):
        done = deployment.rt('db', 'upgrade')
    assert 'is not a database URL: write one such as' in problems(done)['cell1']


def test_no_cell_and_no_api_database_are_one_sentence_each(deployment):
    deployment.engine.create('rt_empty')
    cell = deployment.engine.url(deployments.CELLS[1])
    try:
        deployment.configure(deployment.engine.url('rt_empty'), cell)
        done = deployment.rt('db', 'status')
        assert (done.status, done.rows) == (1, [])
        assert 'run "nova-manage api_db sync" first' in done.said
        deployment.nova('api_db', 'sync')
        done = deployment.rt('db', 'status')
        assert (done.status, done.rows) == (1, [])
        assert 'The API database knows no cell' in done.said
    finally:
        deployment.configure(deployment.engine.url(deployments.API), cell)


def test_a_column_of_somebody_else_is_left_alone(deployment):
    with deployment.connect() as connection:
        connection.exec_driver_sql(
            'ALTER TABLE compute_nodes ADD COLUMN rt_share INTEGER')
    try:
        said = problems(deployment.rt('db', 'upgrade'))
        assert 'not generated, so it is not of nova-rt' in said['cell1']
        assert deployment.rt('db', 'downgrade').status == 0
        with deployment.connect() as connection:
            assert 'rt_share' in columns(connection, 'compute_nodes')
    finally:
        with deployment.connect() as connection:
            connection.exec_driver_sql(
                'ALTER TABLE compute_nodes DROP COLUMN rt_share')


@contextlib.contextmanager
def cell1_at(deployment, url):
    """Give cell1 another address in the API database for a while."""
    change = sa.text('UPDATE cell_mappings SET database_connection = :url '
                     "WHERE name = 'cell1'")
    with deployment.connect(deployments.API) as connection:
        connection.execute(change, {'url': url})
        try:
            yield
        finally:
            connection.execute(change, {
                'url': deployment.engine.url(deployments.CELLS[1])})


def columns(connection, table):
    return {each['name'] for each in sa.inspect(connection).get_columns(table)}
