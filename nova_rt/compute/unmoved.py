# SPDX-License-Identifier: Apache-2.0
"""Servers of which no vCPU is moved while their system metadata is changed."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from nova import context as nova_context
from nova import objects
from nova.compute import resource_tracker
from oslo_concurrency import lockutils

from nova_rt.instance import holdings


@contextlib.contextmanager
def fetched(context: nova_context.RequestContext, server: str) -> Iterator[objects.Instance]:
    """Give a server as it is now, and let no vCPU be moved on this host until the end.

    Nova saves all system metadata of a server at once, and a move that is over leaves the task
    state as it was. So what was read before a move would undo it.

    :param server: its uuid
    :raises InstanceNotFound: if it has gone
    """
    # The resource tracker's lock, which moves hold; whoever has it may take it again.
    with lockutils.lock(resource_tracker.COMPUTE_RESOURCE_SEMAPHORE, fair=True):
        yield holdings.fetch(context, server)
