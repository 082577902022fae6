# SPDX-License-Identifier: Apache-2.0
"""Fills a cell's database as Nova would, and reads it as Nova does.

Among every hundred rows are some without a reservation, without a document,
and with documents that are none.
"""

from collections.abc import Iterator
import itertools
import json
import random
import uuid

from nova.db.main import models
from nova.objects import flavor as flavors
from oslo_serialization import jsonutils
import sqlalchemy as sa

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import reservation
from nova_rt import shares

_BATCH = 2000

# What no JSON parser of an engine may stumble over.
ODD = (
    None, '', 'null', '{', '[]', '"text"', '{"rt_share": ', 'no JSON at all',
    '{"rt_share": {"a": 1}, "rt_share_used": [1]}', '{"rt_share": "12x"}',
    '{"rt_share": "-5", "rt_share_used": "1.5"}', '{"cur": null}',
    '{"rt_share": null, "rt_share_used": ""}', '{"rt_share": "1\\u0000"}',
    '{"rt_share": "99999999999999999999"}', '{"cur": {"nova_object.data": 7}}',
    '{"rt_share": "12\\n"}', '{"rt_share": "1' + '2' * 300 + '"}',
    '[' * 5000, "{'rt_share': '1'}", '\\', '{"rt_share": "١٢"}',
)


def fill(connection: sa.Connection, nodes: int, instances: int,
         seed: int = 1) -> None:
    """Insert compute nodes and instances."""
    source = random.Random(seed)
    _insert(connection, models.ComputeNode.__table__, (
        _node(number, _stats(source, number)) for number in range(nodes)))
    template = _flavor_template()
    uuids = [str(uuid.UUID(int=source.getrandbits(128)))
             for _ in range(instances)]
    _insert(connection, models.Instance.__table__, (
        {'uuid': each, 'host': 'h', 'deleted': 0} for each in uuids))
    _insert(connection, models.InstanceExtra.__table__, (
        {'instance_uuid': each, 'deleted': 0,
         'flavor': _flavor(source, number, template)}
        for number, each in enumerate(uuids)))


def wrong(connection: sa.Connection) -> list[tuple]:
    """Return the rows whose columns are not what Nova's objects say."""
    found = []
    for document, *columns in connection.exec_driver_sql(
            'SELECT stats, rt_share, rt_share_used FROM compute_nodes'):
        numbers = tuple(None if each is None else float(each)
                        for each in columns)
        if numbers != said_by_node(document):
            found.append((document, numbers, said_by_node(document)))
    for document, *values in connection.exec_driver_sql(
            'SELECT flavor, rt_runtime_us, rt_period_us, rt_criticality '
            'FROM instance_extra'):
        if tuple(values) != said_by_flavor(document):
            found.append((document, values, said_by_flavor(document)))
    return found


def said_by_node(document: str | None) -> tuple[float | None, float | None]:
    """Return both shares in CPUs, as ComputeNode.stats has them."""
    try:
        host = shares.from_stats(json.loads(document or '{}'))
    except (ValueError, TypeError, KeyError, RecursionError):
        host = None
    if host is None:
        return None, None
    return bandwidth.cpus(host.rt_share), bandwidth.cpus(host.rt_share_used)


def said_by_flavor(document: str | None) -> tuple[int | None, int | None, str | None]:
    """Return runtime, period and criticality, as the instance's flavor object has them."""
    try:
        primitive = json.loads(document or '{}')['cur']
        flavor = flavors.Flavor.obj_from_primitive(primitive)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None, None, None
    times = reservation.times_from_extra_specs(flavor.extra_specs)
    letter = flavor.extra_specs.get(criticality.EXTRA_SPEC)
    return (times.runtime_us, times.period_us,
            letter if letter in criticality.Criticality.__members__ else None)


def _node(number: int, stats: str | None) -> dict:
    return {
        'uuid': str(uuid.UUID(int=number + 1)), 'host': f'host{number}',
        'hypervisor_hostname': f'host{number}', 'hypervisor_type': 'LXC',
        'hypervisor_version': 1, 'cpu_info': '{}', 'vcpus': 4,
        'memory_mb': 1, 'local_gb': 1, 'vcpus_used': 0, 'memory_mb_used': 0,
        'local_gb_used': 0, 'stats': stats, 'deleted': 0}


def _stats(source: random.Random, number: int) -> str | None:
    if number % 4 == 3:
        return ODD[number // 4 % len(ODD)]
    if number % 4 == 2:
        return jsonutils.dumps({'io_workload': '0'})
    capacity = [source.randrange(bandwidth.BW_UNIT)] * source.choice((1, 4, 96))
    host = shares.HostShares.empty(capacity).add_all(
        (source.randrange(most + 1), [pcpu])
        for pcpu, most in enumerate(capacity))
    return jsonutils.dumps({'io_workload': '0', **shares.to_stats(host)})


def _flavor(source: random.Random, number: int, template: str) -> str | None:
    if number % 10 == 9:
        return ODD[number // 10 % len(ODD)]
    period = source.randrange(100, bandwidth.MAX_PERIOD_US + 1)
    runtime = source.randrange(2, period + 1)
    specs = {'hw:mem_page_size': 'any'}
    if number % 10 < 7:
        specs['hw:cpu.rt_runtime_us'] = str(runtime)
    if number % 10 < 6:
        specs['hw:cpu.rt_period_us'] = str(period)
    if number % 10 < 5:
        # The last ones are none of ours.
        specs['hw:cpu.rt_criticality'] = source.choice(('A', 'B', 'C', 'a', 'AB', 'C\n', ''))
    # What a server that is being moved has been, or is to be.
    other = {'hw:cpu.rt_runtime_us': '77', 'hw:cpu.rt_period_us': '777',
             'hw:cpu.rt_criticality': 'C'}
    document = template.replace('"OLD"', json.dumps(other))
    return document.replace('"CUR"', json.dumps(specs))


def _flavor_template() -> str:
    """Return what Nova writes for an instance that is being resized."""
    flavor = flavors.Flavor(
        name='rt "1"', flavorid='rt1', memory_mb=512, vcpus=2, root_gb=1,
        ephemeral_gb=0, swap=0, rxtx_factor=1.0, extra_specs={}, id=7,
        vcpu_weight=0, disabled=False, is_public=True)

    def primitive(mark: str) -> dict:
        found = flavor.obj_to_primitive()
        found['nova_object.data']['extra_specs'] = mark
        return found
    # As Instance._save_flavor() does.
    return json.dumps({'old': primitive('OLD'), 'cur': primitive('CUR'),
                       'new': None})


def _insert(connection: sa.Connection, table: sa.Table,
            rows: Iterator[dict]) -> None:
    rows = iter(rows)
    while batch := list(itertools.islice(rows, _BATCH)):
        # In autocommit mode, SQLite would wait for the disk at each row.
        connection.exec_driver_sql('BEGIN')
        connection.execute(table.insert(), batch)
        connection.exec_driver_sql('COMMIT')
