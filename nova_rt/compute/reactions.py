# SPDX-License-Identifier: Apache-2.0
"""Reactions to the misses of this host's servers, for as long as the service runs."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Protocol

from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import kinds
from nova_rt.compute import relief
from nova_rt.reaction import counts
from nova_rt.reaction import ears
from nova_rt.reaction import loan_policy
from nova_rt.reaction import reactor
from nova_rt.reaction import records
from nova_rt.virt import containers
from nova_rt.virt import host

LOG = logging.getLogger(__name__)

CONF = cfg.CONF


class Driver(Protocol):
    """What is asked of the compute driver."""

    reservations: host.Host

    def running(self) -> Mapping[str, containers.Container]:
        """Return what runs, by server."""

    def on_start(self, call: Callable[[], None]) -> None:
        """Have something called whenever a server has started."""


class Tracker(Protocol):
    """What is asked of the resource tracker."""

    def relieve(self, server: str, most: int) -> bool:
        """Move a vCPU of a server to where more can be lent; return whether that was done."""


class Evictions(Protocol):
    """What is asked of who stops servers for others."""

    def evict(self, server: str, most: int, asked_s: float) -> bool:
        """Stop another server so that more can be lent; return whether that was begun."""


class Reactions:
    """The reactor, who makes room for it, and who writes down what they do."""

    def __init__(self, driver: Driver, tracker: Tracker, evictions: Evictions,
                 listen: ears.Listen) -> None:
        self._driver = driver
        self._records = records.Records()
        policy = loan_policy.from_options(CONF)
        self._relief = relief.Relief(
            (lambda server: tracker.relieve(server, policy.most))
            if CONF.rt.move_on_misses else relief.nowhere, self._moved,
            (lambda server, asked_s: evictions.evict(server, policy.most, asked_s))
            if CONF.rt.evict_on_misses else relief.nobody,
        ) if CONF.rt.move_on_misses or CONF.rt.evict_on_misses else None
        self._reactor = reactor.Reactor(
            driver.reservations, driver.running, policy,
            self._records.tell, self._records.tell_shrunk, listen=listen,
            relieve=self._relief.ask if self._relief else reactor.stays)
        driver.on_start(self._reactor.look_again)
        self._reactor.start()

    def _moved(self, server: str) -> None:
        counts.add(counts.Reaction.MOVE)
        self._records.tell_moved(server)
        self.has_room(server)

    def has_room(self, server: str) -> None:
        """Let a server be helped when it misses again; any thread may call."""
        self._reactor.has_room(server)

    def end(self) -> None:
        """Give back what is lent, and write down what is left to be."""
        self._driver.on_start(lambda: None)
        if self._relief is not None:
            self._relief.end()
        self._reactor.stop()
        self._records.close()


def begin(driver: Driver, tracker: Tracker, evictions: Evictions) -> Reactions | None:
    """Begin to hear of misses, if that is wanted; None if not, or if nothing is offered."""
    kind = kinds.of_host(driver.reservations.dialect, None)
    if not CONF.rt.hear_misses or kind is None:
        return None
    try:
        return Reactions(driver, tracker, evictions, ears.LISTEN[kind])
    except OSError as exc:
        LOG.warning('No misses are heard (%s): raise fs.inotify.max_user_instances, or set '
                    '[rt] hear_misses=false.', exc)
        return None
