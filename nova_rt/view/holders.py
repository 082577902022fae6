# SPDX-License-Identifier: Apache-2.0
"""Which servers of a cell hold a reservation, asked of its database in one statement.

Nova's objects have no filter for this, and most servers of a cloud may have none.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from nova import context as nova_context
from nova.db.main import api as main_db
from nova.db.main import models
from oslo_serialization import jsonutils
import sqlalchemy as sa

from nova_rt import kinds
from nova_rt.instance import holdings


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

    :ivar kind: that of its host, None if that does not say
    """

    uuid: str
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
    return [Holder(uuid, _kind(stats, hypervisor)) for uuid, stats, hypervisor in rows]


def _statement(scope: Scope, limit: int,
               marker: str | None) -> sa.Select[tuple[str, str | None, str | None]]:
    server, node, entry = (
        models.Instance, models.ComputeNode, models.InstanceSystemMetadata)
    conditions: Sequence[sa.ColumnElement[bool]] = [
        server.deleted == 0,
        sa.or_(server.hidden.is_(None), server.hidden == sa.false()),
        *([server.project_id == scope.project] if scope.project is not None else []),
        *([server.host == scope.host] if scope.host is not None else []),
        *([server.uuid > marker] if marker is not None else []),
    ]
    return (
        sa.select(server.uuid, node.stats, node.hypervisor_type)
        .join(entry, sa.and_(
            entry.instance_uuid == server.uuid, entry.deleted == 0,
            entry.key == holdings.PCPUS))
        .outerjoin(node, sa.and_(
            node.host == server.host, node.hypervisor_hostname == server.node,
            node.deleted == 0))
        .where(*conditions).order_by(server.uuid).limit(limit))


def _kind(stats: str | None, hypervisor: str | None) -> kinds.Kind | None:
    try:
        told = jsonutils.loads(stats) if stats else {}
    except ValueError:
        told = {}
    return kinds.of_host(told.get('rt_dialect'), hypervisor)
