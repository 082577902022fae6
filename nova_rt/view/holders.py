# SPDX-License-Identifier: Apache-2.0
"""Which servers of a cell hold a reservation, asked of its database in one statement.

Nova's objects have no filter for this, and most servers of a cloud may have none. They
also read every column and copy it, which takes ten times as long as what a list shows.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import functools

from nova import context as nova_context
from nova import objects
from nova.db.main import api as main_db
from nova.db.main import models
from oslo_serialization import jsonutils
import sqlalchemy as sa
from sqlalchemy import orm

from nova_rt import kinds
from nova_rt.instance import holdings
from nova_rt.instance import preempted

# What _statement() selects, in its order.
_Columns = tuple[str, str | None, str | None, str | None, str | None, str, str | None, str,
                 str | None, str | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """Which servers are looked at.

    :ivar project: the id of a project, None for all
    :ivar host: the name of a host, None for all
    """

    project: str | None = None
    host: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Holder:
    """A server that holds a reservation.

    :ivar instance: with no more than what lists show; nothing else may be read of it
    :ivar kind: that of its host, None if that does not say
    """

    instance: objects.Instance
    kind: kinds.Kind | None


@main_db.pick_context_manager_reader
def of_cell(context: nova_context.RequestContext, scope: Scope, limit: int,
            marker: str | None) -> list[Holder]:
    """Return servers of a cell by uuid.

    :param context: of an administrator, in the cell
    :param limit: how many at most
    :param marker: the uuid after which to begin, whether or not there is such a server
    """
    rows = context.session.execute(_statement(scope, limit, marker)).all()
    return [Holder(_instance(row), _kind(row.stats, row.hypervisor_type)) for row in rows]


def _statement(scope: Scope, limit: int, marker: str | None) -> sa.Select[_Columns]:
    server, node, extra = models.Instance, models.ComputeNode, models.InstanceExtra
    pcpus, mark = (orm.aliased(models.InstanceSystemMetadata) for _ in range(2))
    conditions: Sequence[sa.ColumnElement[bool]] = [
        server.deleted == 0,
        sa.or_(server.hidden.is_(None), server.hidden == sa.false()),
        *([server.project_id == scope.project] if scope.project is not None else []),
        *([server.host == scope.host] if scope.host is not None else []),
        *([server.uuid > marker] if marker is not None else []),
    ]
    return (
        sa.select(server.uuid, server.display_name, server.project_id, server.vm_state,
                  server.host, pcpus.value.label('pcpus'), mark.value.label('mark'),
                  extra.flavor, node.stats, node.hypervisor_type)
        .join(pcpus, _is_entry(pcpus, holdings.PCPUS))
        .join(extra, extra.instance_uuid == server.uuid)
        .outerjoin(mark, _is_entry(mark, preempted.MARK))
        .outerjoin(node, sa.and_(
            node.host == server.host, node.hypervisor_hostname == server.node,
            node.deleted == 0))
        .where(*conditions).order_by(server.uuid).limit(limit))


def _is_entry(entry: type[models.InstanceSystemMetadata],
              key: str) -> sa.ColumnElement[bool]:
    return sa.and_(entry.instance_uuid == models.Instance.uuid, entry.deleted == 0,
                   entry.key == key)


def _instance(row: sa.Row[_Columns]) -> objects.Instance:
    metadata = {holdings.PCPUS: row.pcpus, preempted.MARK: row.mark}
    return objects.Instance(
        uuid=row.uuid, display_name=row.display_name, project_id=row.project_id,
        vm_state=row.vm_state, host=row.host, flavor=_flavor(row.flavor),
        system_metadata={key: value for key, value in metadata.items() if value})


@functools.lru_cache(maxsize=1024)
def _flavor(text: str) -> objects.Flavor:
    """Return a server's own flavor; thousands have the same, word for word."""
    return objects.Flavor.obj_from_primitive(jsonutils.loads(text)['cur'])


def _kind(stats: str | None, hypervisor: str | None) -> kinds.Kind | None:
    try:
        told = jsonutils.loads(stats) if stats else {}
    except ValueError:
        told = {}
    return kinds.of_host(told.get('rt_dialect'), hypervisor)
