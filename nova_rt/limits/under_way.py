# SPDX-License-Identifier: Apache-2.0
"""What servers of a project are about to have, or to have again, and Placement may not have
allocated yet: nova-api let them through, or they were shrunk for more critical ones.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import task_states
from nova.compute import vm_states
from nova.db.main import api as main_db
from nova.db.main import models
import sqlalchemy as sa

from nova_rt import reservation
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import preempted
from nova_rt.instance import request_specs
from nova_rt.limits import errors

_BUILDING = {'vm_state': vm_states.BUILDING}
_CHANGING = {'task_state': [task_states.UNSHELVING, task_states.RESIZE_PREP]}



@dataclasses.dataclass(frozen=True, slots=True)
class UnderWay:
    """What servers of a project are about to have, in fixed point.

    :ivar new: by its uuid, the share of each server that is built or unshelved. It has this
        allocated, or nothing.
    :ivar growth: by how much servers that are resized are to grow. It counts until the new host
        prepares for the server, whether or not Placement has it by then: at most twice for a
        moment.
    """

    new: Mapping[str, int]
    growth: int


def of_project(context: nova_context.RequestContext, project: str) -> UnderWay:
    """Return what is under way now.

    :param context: of an administrator
    :raises UndecidedError: if a cell that has servers of the project does not answer
    """
    # First: Nova creates the server in its cell, then deletes the request to build it.
    new: dict[str, objects.Instance | None] = {
        request.instance_uuid: None for request in objects.BuildRequestList.get_by_filters(
            context, {'project_id': project})}
    growth = 0
    for instance in _in_cells(context, project, _coming_in_cell):
        if instance.task_state == task_states.RESIZE_PREP:
            growth += int(instance.system_metadata.get(holdings.GROWTH, 0))
        else:
            new[instance.uuid] = instance
    return UnderWay({server: share for server, instance in new.items()
                     if (share := _share(context, server, instance))}, growth)


def owed(context: nova_context.RequestContext, project: str) -> Mapping[str, int]:
    """Return what servers of a project are to have again that were shrunk for others.

    :param context: of an administrator
    :returns: the share of each, by its uuid, in fixed point
    :raises UndecidedError: as :func:`of_project`
    """
    shrunk = _in_cells(context, project, _shrunk_in_cell)
    return {instance.uuid: preempted.owed_share(instance) for instance in shrunk}


def counted(context: nova_context.RequestContext, server: str) -> int:
    """Return what counts of a server that nothing is done with: what it has, and is to have again.

    :param context: of an administrator
    :returns: its share, in fixed point; none of a server that is not found
    """
    instance = holdings.find(context, server)
    if instance is None:
        return 0
    has = flavors.reservation_of(instance.flavor)
    return has.share + preempted.owed_share(instance) if has else 0


def note_growth(context: nova_context.RequestContext, server: str, share: int) -> None:
    """Record by how much a server grows if the change that it asks for begins.

    It does not if another operation is under way, perhaps a change that has its own record.

    :param context: of an administrator
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    if mapping.cell_mapping is not None:
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            _note_in_cell(cell, server, str(share))


@main_db.pick_context_manager_writer
def _note_in_cell(context: nova_context.RequestContext, server: str, share: str) -> None:
    """Write one entry of a server's system metadata.

    Nova's own save replaces all entries by those that were read: it would undo a move of a vCPU
    that began and ended since, which leaves the task state as it was.
    """
    instance, entry = models.Instance, models.InstanceSystemMetadata
    # This has the server's row until the end: nothing begins before that.
    at_rest = context.session.execute(sa.update(instance).where(
        instance.uuid == server, instance.task_state.is_(None)).values(task_state=None)).rowcount
    if at_rest:
        context.session.execute(sa.delete(entry).where(
            entry.instance_uuid == server, entry.key == holdings.GROWTH))
        context.session.add(entry(instance_uuid=server, key=holdings.GROWTH, value=share))


def _in_cells(context: nova_context.RequestContext, project: str, in_cell: Callable[
                  [nova_context.RequestContext, str], Sequence[objects.Instance]],
              ) -> list[objects.Instance]:
    by_cell = nova_context.scatter_gather_skip_cell0(context, in_cell, project)
    found: list[objects.Instance] = []
    for cell, instances in by_cell.items():
        if isinstance(instances, list):
            found += instances
        elif objects.InstanceMappingList.get_not_deleted_by_cell_and_project(
                context, cell, project, limit=1):
            # Others wait for no cell that has nothing of theirs.
            raise errors.UndecidedError(
                'What the project has reserved cannot be counted, as a cell with servers of its '
                'own does not answer: try again later.')
    return found


def _coming_in_cell(context: nova_context.RequestContext,
                    project: str) -> list[objects.Instance]:
    return [instance for state in (_BUILDING, _CHANGING)
            for instance in objects.InstanceList.get_by_filters(
                context, {'project_id': project, 'deleted': False, **state},
                expected_attrs=['system_metadata', 'flavor'])]


def _shrunk_in_cell(context: nova_context.RequestContext,
                    project: str) -> list[objects.Instance]:
    servers = preempted.of_cell(context, project)
    return list(objects.InstanceList.get_by_filters(
        context, {'uuid': servers, 'deleted': False},
        expected_attrs=['system_metadata', 'flavor'])) if servers else []


def _share(context: nova_context.RequestContext, server: str,
           instance: objects.Instance | None) -> int:
    """Return what a server is to have.

    :param instance: None while no cell has it
    """
    # Invalid: no host takes it. Not found: it has just been deleted.
    with contextlib.suppress(reservation.InvalidReservationError,
                             exception.RequestSpecNotFound):
        spec = objects.RequestSpec.get_by_instance_uuid(context, server)
        if instance is not None:
            request_specs.take_own_flavor(spec, instance)
        wanted = request_specs.reservation_of(spec)
        return wanted.share if wanted else 0
    return 0
