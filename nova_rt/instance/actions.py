# SPDX-License-Identifier: Apache-2.0
"""What was done with a server, told where its user looks: ``openstack server event list``."""

from __future__ import annotations

from nova import context as nova_context
from nova import objects
from oslo_log import log as logging
from oslo_utils import timeutils

LOG = logging.getLogger(__name__)


def record(context: nova_context.RequestContext, server: str, action: str,
           sentence: str) -> None:
    """Record an action of a server; what Nova's database refuses is logged.

    :param context: of an administrator, in the server's cell
    :param sentence: why, in at most 255 characters
    """
    now = timeutils.utcnow()
    try:
        objects.InstanceAction(
            context, action=action, instance_uuid=server, request_id=context.request_id,
            user_id=context.user_id, project_id=context.project_id, start_time=now,
            updated_at=now, message=sentence).create()
    except Exception as exc:
        LOG.warning('Not recorded for server %s (%s): %s', server, exc, sentence)
