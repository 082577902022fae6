# SPDX-License-Identifier: Apache-2.0
"""nova-rt's records in Nova's databases, found and removed.

Each statement stands alone, and changes a row only while it is as it was read: what
Nova changes meanwhile is found again the next time. Connections are in autocommit mode.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import dataclasses

from nova.compute import vm_states
import sqlalchemy as sa

from nova_rt import shares
from nova_rt.instance import eviction
from nova_rt.instance import holdings
from nova_rt.instance import preempted
from nova_rt.removal import documents

KEYS = (holdings.PCPUS, holdings.OLD + holdings.PCPUS, holdings.NEW + holdings.PCPUS,
        holdings.IN_PLACE, holdings.HINT_DUE, holdings.SHARE_DUE, holdings.GROWTH,
        eviction.MARK, preempted.MARK, preempted.NEXT)
_MERGED = f'%{shares.EXTRA_SPEC}%'
_REPORTED = '%"rt_%'
# Nova's own tables, and its archive of them, which has the same columns.
_PREFIXES = ('', 'shadow_')


def _table(name: str, *columns: str) -> sa.TableClause:
    return sa.table(name, *(sa.column(column) for column in columns))


_INSTANCES = _table(
    'instances', 'uuid', 'display_name', 'host', 'vm_state', 'task_state', 'deleted')
_NODES = {prefix: _table(f'{prefix}compute_nodes', 'id', 'uuid', 'host', 'stats', 'deleted')
          for prefix in _PREFIXES}
_EXTRA = {prefix: _table(f'{prefix}instance_extra', 'id', 'instance_uuid', 'flavor')
          for prefix in _PREFIXES}
_METADATA = {prefix: _table(f'{prefix}instance_system_metadata', 'instance_uuid', 'key')
             for prefix in _PREFIXES}
_MIGRATIONS = _table('migrations', 'uuid', 'instance_uuid')
_SPECS = _table('request_specs', 'id', 'instance_uuid', 'spec')


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """A compute node that nova-rt-compute was the last to report.

    :ivar uuid: also of its resource provider
    """

    host: str
    uuid: str


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server of which something of ours is recorded.

    :ivar host: that it is on, None for one that is shelved
    :ivar task_state: Nova's, None while nothing is done with it
    :ivar reserved: whether it has a reservation; nova-compute leaves records of one that
        it has resized to a flavor without
    :ivar evicted: whether it is stopped for another, and waits to be started again
    """

    uuid: str
    name: str
    host: str | None
    task_state: str | None
    reserved: bool
    evicted: bool = False


def nodes(cell: sa.Connection) -> list[Node]:
    """Return the compute nodes that nova-rt-compute was the last to report, by host."""
    table = _NODES['']
    rows = cell.execute(sa.select(table.c.host, table.c.uuid).where(
        table.c.deleted == 0, table.c.stats.like(_REPORTED)).order_by(table.c.host))
    return [Node(row.host, row.uuid) for row in rows]


def servers(cell: sa.Connection) -> list[Server]:
    """Return the servers of a cell of which something of ours is recorded, by name."""
    extra = _EXTRA['']
    query = sa.select(
        *(_INSTANCES.c[name] for name in ('uuid', 'display_name', 'host', 'vm_state',
                                          'task_state')),
        extra.c.flavor).join_from(
            _INSTANCES, extra, extra.c.instance_uuid == _INSTANCES.c.uuid).where(
                _INSTANCES.c.deleted == 0, _INSTANCES.c.uuid.in_(_concerned('')))
    marked = set(cell.scalars(_with_key('', [eviction.MARK])))
    return sorted((Server(row.uuid, row.display_name, row.host, row.task_state,
                          documents.reserves(row.flavor),
                          row.vm_state == vm_states.STOPPED and row.uuid in marked)
                   for row in cell.execute(query)),
                  key=lambda server: (server.name, server.uuid))


def past_servers(cell: sa.Connection) -> set[str]:
    """Return the deleted servers of which something of ours is recorded."""
    concerned = {uuid for prefix in _PREFIXES for uuid in cell.scalars(_concerned(prefix))}
    return concerned - {server.uuid for server in servers(cell)}


def migrations(cell: sa.Connection, server: str) -> set[str]:
    """Return the migrations of a server, which may have allocations of its own."""
    return set(cell.scalars(sa.select(_MIGRATIONS.c.uuid).where(
        _MIGRATIONS.c.instance_uuid == server)))


def unreported(cell: sa.Connection, hosts: Collection[str]) -> int:
    """Return how many compute nodes have stats of ours that nobody reports any more.

    :param hosts: whose compute service is up
    """
    return sum(cell.scalar(sa.select(sa.func.count()).select_from(table).where(
        *_unreported(table, hosts))) or 0 for table in _NODES.values())


def requests(api: sa.Connection) -> set[str]:
    """Return the servers whose request has the share in its flavor."""
    return set(api.scalars(sa.select(_SPECS.c.instance_uuid).where(
        _SPECS.c.spec.like(_MERGED))))


def forget_request(api: sa.Connection, server: str,
                   extra_specs: documents.ExtraSpecs) -> None:
    """Remove ours from a server's request.

    :param extra_specs: those of a flavor, by flavorid
    """
    _update(api, _SPECS, 'spec', lambda spec: documents.request_spec(spec, extra_specs),
            _SPECS.c.instance_uuid == server, _SPECS.c.spec.like(_MERGED))


def forget_server(cell: sa.Connection, api: sa.Connection, server: str,
                  extra_specs: documents.ExtraSpecs) -> None:
    """Remove ours from what a cell records of a server, or of a deleted one.

    :param extra_specs: those of a flavor, by flavorid
    """
    spec = api.scalar(sa.select(_SPECS.c.spec).where(_SPECS.c.instance_uuid == server))
    overridden = documents.hinted(spec) if spec else frozenset()
    for prefix in _PREFIXES:
        extra, metadata = _EXTRA[prefix], _METADATA[prefix]
        _update(cell, extra, 'flavor',
                lambda text: documents.instance_flavor(text, overridden, extra_specs),
                extra.c.instance_uuid == server, extra.c.flavor.like(_MERGED))
        cell.execute(sa.delete(metadata).where(
            metadata.c.instance_uuid == server, metadata.c.key.in_(KEYS)))


def forget_unreported(cell: sa.Connection, hosts: Collection[str]) -> None:
    """Remove ours from the stats that nobody reports any more.

    :param hosts: whose compute service is up
    """
    for table in _NODES.values():
        _update(cell, table, 'stats', documents.stats, *_unreported(table, hosts))


def _concerned(prefix: str) -> sa.CompoundSelect[str]:
    extra = _EXTRA[prefix]
    return sa.union(
        sa.select(extra.c.instance_uuid).where(extra.c.flavor.like(_MERGED)),
        _with_key(prefix, KEYS))


def _with_key(prefix: str, keys: Collection[str]) -> sa.Select[tuple[str]]:
    metadata = _METADATA[prefix]
    return sa.select(metadata.c.instance_uuid).where(metadata.c.key.in_(keys))


def _unreported(table: sa.TableClause, hosts: Collection[str],
                ) -> tuple[sa.ColumnElement[bool], ...]:
    gone = sa.or_(table.c.deleted != 0, table.c.host.not_in(hosts))
    return table.c.stats.like(_REPORTED), gone if table is _NODES[''] else sa.true()


def _update(connection: sa.Connection, table: sa.TableClause, name: str,
            change: Callable[[str], str], *where: sa.ColumnElement[bool]) -> None:
    """Change a document in the rows that fit, where it is still as it was read."""
    column = table.c[name]
    rows = connection.execute(sa.select(table.c.id, column).where(*where)).all()
    for number, document in rows:
        connection.execute(sa.update(table).where(
            table.c.id == number, column == document).values({name: change(document)}))
