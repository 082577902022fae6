# SPDX-License-Identifier: Apache-2.0
"""The conductor's manager: it looks after those who wait, beside what Nova's does."""

from __future__ import annotations

from typing import Any

from nova import context as nova_context
from nova.conductor import manager
import nova.conf
from oslo_service import periodic_task

from nova_rt import errors
from nova_rt.conductor import queue
from nova_rt.conductor import tasks

# How often the hosts are looked at, in seconds.
_LOOKS = 5
# How long a token lasts by default, and how long Keystone takes one with a service's beside it.
_TOKEN_S, _WITH_SERVICE_S = 3600, 172_800


class ImpossibleWaitError(errors.NovaRTError):
    """Servers cannot wait so; the message says what to change."""


class RTConductorManager(manager.ConductorManager):
    """Nova's conductor, whose new servers may wait."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        check_options()
        self.additional_endpoints.remove(self.compute_task_mgr)
        self.compute_task_mgr = tasks.RTComputeTaskManager()
        self.additional_endpoints.append(self.compute_task_mgr)
        self.queue = queue.Queue(self.compute_task_mgr)

    @periodic_task.periodic_task(  # type: ignore[untyped-decorator]
        spacing=_LOOKS, run_immediately=True)
    def place_those_who_wait(self, context: nova_context.RequestContext) -> None:
        """Try those who wait for room again, where there may be some by now."""
        self.queue.sweep(context)


def check_options() -> None:
    """Refuse options by which servers would wait in vain.

    :raises ImpossibleWaitError: then
    """
    conf = nova.conf.CONF
    longest_s = (_WITH_SERVICE_S if conf.service_user.send_service_user_token else _TOKEN_S)
    if conf.rt.wait_for_room > longest_s:
        raise ImpossibleWaitError(
            f'[rt] wait_for_room is {conf.rt.wait_for_room:g} s, but the tokens of users are '
            f'accepted for {longest_s} s: lower it' + (
                '.' if longest_s == _WITH_SERVICE_S else
                ', or set [service_user] send_service_user_token, for up to '
                f'{_WITH_SERVICE_S} s.'))
    if conf.rt.wait_for_room > 0 and not conf.periodic_enable:
        raise ImpossibleWaitError(
            '[rt] wait_for_room needs periodic tasks: remove periodic_enable = false.')
