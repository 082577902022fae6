# SPDX-License-Identifier: Apache-2.0
"""The conductor's manager: it looks after those who wait, beside what Nova's does."""

from __future__ import annotations

from typing import Any

from nova import context as nova_context
from nova.conductor import manager
from oslo_service import periodic_task

from nova_rt.conductor import queue
from nova_rt.conductor import tasks

# How often the hosts are looked at, in seconds.
_LOOKS = 5


class RTConductorManager(manager.ConductorManager):
    """Nova's conductor, whose new servers may wait."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.additional_endpoints.remove(self.compute_task_mgr)
        self.compute_task_mgr = tasks.RTComputeTaskManager()
        self.additional_endpoints.append(self.compute_task_mgr)
        self.queue = queue.Queue(self.compute_task_mgr)

    @periodic_task.periodic_task(  # type: ignore[untyped-decorator]
        spacing=_LOOKS, run_immediately=True)
    def place_those_who_wait(self, context: nova_context.RequestContext) -> None:
        """Try those who wait for room again, where there may be some by now."""
        self.queue.sweep(context)
