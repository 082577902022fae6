# SPDX-License-Identifier: Apache-2.0
"""Has Nova migrate a server live to a host, and looks how that goes: the operator's side.

It is Nova's own live migration: its scheduler and the claim on the target decide again,
and it goes on whatever becomes of who asked for it.
"""

from __future__ import annotations

import dataclasses

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import api
from nova.compute import instance_actions
from nova.compute import task_states
import oslo_messaging

from nova_rt.instance import compute_call

# The status of a live migration that failed, and of one that is over.
_FAILED = ('error', 'failed', 'cancelled')
_OVER = ('completed', *_FAILED)


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """How a server's newest live migration goes.

    :ivar host: where the server is now
    :ivar under_way: whether Nova is still at it
    :ivar target: where it was to go; None if that was not chosen, or there was none
    :ivar status: Nova's word for the migration, None if there was none
    :ivar reason: why it failed, as Nova tells it; empty if it did not
    """

    host: str | None
    under_way: bool
    target: str | None
    status: str | None
    reason: str


def start(context: nova_context.RequestContext, server: str, source: str, target: str) -> None:
    """Have Nova begin to migrate a server live.

    :param context: of an administrator
    :param server: its uuid
    :param source: the host that it is to be on
    :param target: the host that it is to go to
    :raises UnansweredError: if the message that begins it could not be sent
    :raises RefusedError: if Nova does not begin, or the server is locked
    :raises InstanceNotFound: if Nova does not know it
    """
    nova = api.API()
    instance = nova.get(context, server, expected_attrs=['numa_topology', 'system_metadata'])
    if instance.host != source:
        raise compute_call.RefusedError(f'The server is no longer on {source}.')
    if instance.locked:
        # Nova lets an administrator migrate it; who locked it did not want that.
        raise compute_call.RefusedError(
            'The server is locked: unlock it first ("openstack server unlock").')
    if instance.task_state is not None:
        raise compute_call.RefusedError(
            f'The server has another operation under way ({instance.task_state}).')
    try:
        nova.live_migrate(context, instance, None, None, target, force=False, async_=True)
    except exception.NovaException as exc:
        raise compute_call.RefusedError(f'Nova does not migrate it: {_ended(str(exc))}') from None
    except oslo_messaging.MessagingException as exc:
        # Nova waits for no answer, so nobody has the message, and the server would be
        # said to migrate without end.
        instance.task_state = None
        instance.save(expected_task_state=[task_states.MIGRATING])
        raise compute_call.UnansweredError(
            'Nova could not be told to migrate it, so the server stays as it was: '
            f'{_ended(str(exc))}') from None


def progress(context: nova_context.RequestContext, server: str) -> Progress:
    """Return how a server's newest live migration goes.

    :param context: of an administrator
    :raises InstanceMappingNotFound, InstanceNotFound: if Nova does not know it
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    if mapping.cell_mapping is None:
        raise exception.InstanceNotFound(instance_id=server)
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        instance = objects.Instance.get_by_uuid(cell, server, expected_attrs=[])
        newest = max(objects.MigrationList.get_by_filters(cell, {
            'instance_uuid': server, 'migration_type': 'live-migration'}),
            key=lambda migration: migration.id, default=None)
        # The source gives its share back after the server's state says that it is over.
        under_way = instance.task_state == task_states.MIGRATING or (
            newest is not None and newest.status not in _OVER)
        failed = not under_way and newest is not None and newest.status in _FAILED
        return Progress(
            instance.host, under_way, newest.dest_compute if newest else None,
            newest.status if newest else None,
            _why_not(cell, server) if failed else '')


def _why_not(cell: nova_context.RequestContext, server: str) -> str:
    """Return what Nova noted of why the newest live migration failed; empty if nothing."""
    # Newest first.
    actions = [action for action in objects.InstanceActionList.get_by_instance_uuid(cell, server)
               if action.action == instance_actions.LIVE_MIGRATION]
    for action in actions[:1]:
        for event in objects.InstanceActionEventList.get_by_action(cell, action.id):
            if event.result == 'Error' and event.details:
                return _ended(event.details)
    return ''


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith(('.', '!')) else f'{sentence}.'
