# SPDX-License-Identifier: Apache-2.0
"""Tells of reactions where users look: in the events of a server."""

from __future__ import annotations

from concurrent import futures

from nova import context as nova_context
from nova import objects
from oslo_log import log as logging
from oslo_utils import timeutils

LOG = logging.getLogger(__name__)

ACTION = 'rt_loan'


class Records:
    """Writes them one after the other, so that nobody waits for Nova's database."""

    def __init__(self) -> None:
        self._writer = futures.ThreadPoolExecutor(1, 'nova-rt records')

    def tell(self, server: str, sentence: str) -> None:
        """Record an action of a server: ``openstack server event list``."""
        self._writer.submit(_record, server, sentence)

    def close(self) -> None:
        """Write what is left."""
        self._writer.shutdown()


def _record(server: str, sentence: str) -> None:
    context = nova_context.get_admin_context()
    now = timeutils.utcnow()
    try:
        objects.InstanceAction(
            context, action=ACTION, instance_uuid=server, request_id=context.request_id,
            user_id=context.user_id, project_id=context.project_id, start_time=now,
            updated_at=now, message=sentence).create()
    except Exception as exc:
        LOG.warning('Not recorded for server %s (%s): %s', server, exc, sentence)
