# SPDX-License-Identifier: Apache-2.0
"""An evacuation that found no room where the scheduler sent it."""

from __future__ import annotations

from typing import Any

from nova import context as nova_context
from nova import objects
from nova.compute import task_states
from nova.conductor import api as conductor_api
from nova.objects import fields
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

# Each attempt is scheduled by what the hosts last reported, so a few are enough
# unless very many servers leave at once.
_ATTEMPTS = 10


def may_go_elsewhere(spec: objects.RequestSpec | None) -> bool:
    """Return whether another host may be tried.

    Not if the operator named the host, or enough were tried.
    """
    if spec is None:
        return False
    destination = (spec.requested_destination
                   if 'requested_destination' in spec else None)
    named = destination and 'host' in destination and destination.host
    return not named and _attempts(spec) < _ATTEMPTS


def begin_again(context: nova_context.RequestContext,
                conductor: conductor_api.ComputeTaskAPI,
                instance: objects.Instance, spec: objects.RequestSpec,
                **as_before: Any) -> None:
    """Ask for the evacuation once more, as nova-api does.

    :param as_before: what the request was given
    :raises UnexpectedTaskStateError: if another operation on the server
        began meanwhile
    """
    spec.retry = objects.SchedulerRetries(
        num_attempts=_attempts(spec) + 1,
        hosts=objects.ComputeNodeList(objects=[]))
    LOG.info('There was no room for the evacuation: trying again (%d of %d).',
             spec.retry.num_attempts, _ATTEMPTS, instance=instance)
    instance.task_state = task_states.REBUILDING
    instance.save(expected_task_state=[None])
    objects.Migration(
        context, source_compute=instance.host, source_node=instance.node,
        instance_uuid=instance.uuid, status='accepted',
        migration_type=fields.MigrationType.EVACUATION).create()
    conductor.rebuild_instance(
        context, instance, orig_image_ref=None, image_ref=None,
        injected_files=None, orig_sys_metadata=None, bdms=None, recreate=True,
        host=None, request_spec=spec, **as_before)


def _attempts(spec: objects.RequestSpec) -> int:
    retry = 'retry' in spec and spec.retry
    return retry.num_attempts if retry else 0
