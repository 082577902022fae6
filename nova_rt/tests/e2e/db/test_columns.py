# SPDX-License-Identifier: Apache-2.0
"""The generated columns, on real servers and on SQLite."""

import hashlib
import threading
import time

import sqlalchemy as sa

from nova_rt.tests.e2e.db import deployment as deployments
from nova_rt.tests.e2e.db import population

TABLES = ('compute_nodes', 'instances', 'instance_extra')


def timed(deployment, sizes, *command):
    began = time.monotonic()
    done = deployment.rt(*command)
    print(f'{deployment.engine.name}: {" ".join(command)} with {sizes[0]} '
          f'compute nodes and {sizes[1]} instances: '
          f'{time.monotonic() - began:.1f} s')
    assert done.status == 0, done
    return done


def nova_s(connection):
    """Return a digest of all rows of Nova's, and the tables' columns."""
    digest = hashlib.sha256()
    columns = {}
    for table in TABLES:
        found = sa.inspect(connection).get_columns(table)
        columns[table] = {each['name']: str(each['type']) for each in found}
        names = ', '.join(sorted(columns[table]))
        for row in connection.exec_driver_sql(
                f'SELECT {names} FROM {table} ORDER BY id'):
            digest.update(repr(tuple(row)).encode())
    return digest.hexdigest(), columns


def test_up_down_and_up_again_the_values_are_what_the_objects_say(
        deployment, sizes):
    with deployment.connect() as connection:
        population.fill(connection, *sizes)
        before = nova_s(connection)
    timed(deployment, sizes, 'db', 'upgrade')
    with deployment.connect() as connection:
        assert population.wrong(connection) == []
    timed(deployment, sizes, 'db', 'downgrade')
    with deployment.connect() as connection:
        assert nova_s(connection) == before
    timed(deployment, sizes, 'db', 'upgrade')
    again = timed(deployment, sizes, 'db', 'upgrade')
    assert [row['state'] for row in again.rows] == ['current'] * 3
    with deployment.connect() as connection:
        assert population.wrong(connection) == []
        rows = connection.exec_driver_sql(
            'SELECT count(rt_share), count(*) FROM compute_nodes').one()
        assert 0 < rows[0] < rows[1] == sizes[0]


def test_every_cell_gets_the_columns_and_status_tells(deployment):
    def states():
        return {row['cell']: row['state']
                for row in deployment.rt('db', 'status').rows}
    absent = dict.fromkeys(('cell0', 'cell1', 'cell2'), 'absent')
    assert states() == absent
    deployment.rt('db', 'upgrade')
    assert states() == dict.fromkeys(absent, 'current')
    for cell in deployments.CELLS:
        with deployment.connect(cell) as connection:
            connection.exec_driver_sql(
                'SELECT rt_runtime_us, rt_period_us FROM instance_extra')
            connection.exec_driver_sql(
                'SELECT rt_share, rt_share_used FROM compute_nodes')
    deployment.rt('db', 'downgrade')
    assert states() == absent
    deployment.rt('db', 'downgrade')
    assert states() == absent


def test_a_column_that_is_dropped_is_absent_and_comes_back(deployment):
    deployment.rt('db', 'upgrade')
    with deployment.connect() as connection:
        connection.exec_driver_sql(
            'ALTER TABLE instance_extra DROP COLUMN rt_period_us')
    rows = deployment.rt('db', 'status').rows
    assert [row['state'] for row in rows] == ['current', 'absent', 'current']
    done = deployment.rt('db', 'upgrade')
    assert [row['state'] for row in done.rows] == ['current'] * 3


def test_four_cpus_at_the_usual_cap_read_3_8(deployment):
    deployment.rt('db', 'upgrade')
    with deployment.connect() as connection:
        population.fill(connection, 1, 0)
        connection.execute(sa.text(
            'UPDATE compute_nodes SET stats = :stats'),
            {'stats': '{"rt_share": "3984588", "rt_share_used": "0"}'})
        assert [float(each) for each in connection.exec_driver_sql(
            'SELECT rt_share, rt_share_used FROM compute_nodes').one()] == [
                3.8, 0]


def test_whatever_nova_writes_is_taken_and_the_columns_follow(deployment):
    deployment.rt('db', 'upgrade')
    with deployment.connect() as connection:
        if connection.dialect.name == 'mysql':
            # As oslo.db sets it.
            connection.exec_driver_sql("SET SESSION sql_mode = 'TRADITIONAL'")
        population.fill(connection, 1, 1)
        good = connection.exec_driver_sql(
            'SELECT stats FROM compute_nodes').scalar()
        for document in (*population.ODD, good):
            for table, column in (('compute_nodes', 'stats'),
                                  ('instance_extra', 'flavor')):
                connection.execute(
                    sa.text(f'UPDATE {table} SET {column} = :document'),
                    {'document': document})
            assert population.wrong(connection) == []


def test_columns_are_added_and_dropped_while_nova_writes(deployment):
    with deployment.connect() as connection:
        population.fill(connection, 50, 500)
    ended = threading.Event()
    writes = []

    def write():
        with deployment.connect() as connection:
            # Without a pause nobody else would get at SQLite's file.
            while not ended.wait(0.02):
                writes.append(connection.execute(
                    sa.text('UPDATE compute_nodes SET stats = :stats '
                            'WHERE host = :host'),
                    {'host': f'host{len(writes) % 50}', 'stats':
                     '{"rt_share": "1048576", "rt_share_used": "524288"}'},
                ).rowcount)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for command in ('upgrade', 'downgrade', 'upgrade'):
            assert deployment.rt('db', command).status == 0
    finally:
        ended.set()
        writer.join()
    assert writes
    assert set(writes) == {1}
    with deployment.connect() as connection:
        assert connection.exec_driver_sql(
            'SELECT count(*) FROM compute_nodes WHERE rt_share = 1 '
            'AND rt_share_used = 0.5').scalar() == min(len(writes), 50)
