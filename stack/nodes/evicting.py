# SPDX-License-Identifier: Apache-2.0
"""Stops containers of a node without a control plane for more critical ones.

nova-rt's choice of whom, and libvirt's stop, as Nova's driver asks for it. What Nova's API,
conductor and database would take in between is not there. It is copied into the folder of the
node, beside the task that uses it.
"""

from collections.abc import Callable
from collections.abc import Mapping
import queue
import threading
import time
from typing import Any

from bare import Bare  # type: ignore[import-not-found]  # beside it on the node
import libvirt

from nova_rt import bandwidth
from nova_rt.reaction import victim

PAUSE_S = 0.001


class Evicting:
    """Stops one server at a time.

    :param settings: with ``policy``, and ``memory_mb`` and ``networks`` of each container
    :ivar stopped: the names of those that are
    :ivar done: whom, for whom, and when it was asked, chosen and stopped, in ns
    :ivar has_room: is called when there is more room for a server
    """

    def __init__(self, node: Bare, settings: Mapping[str, Any]) -> None:
        self._node = node
        self._settings = settings
        self.stopped: set[str] = set()
        self.done: list[tuple[str, str, int, int, int]] = []
        self.has_room: Callable[[str], None] = _nothing
        self._asked: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def ask(self, server: str) -> None:
        """Stop another for a server as soon as it is its turn; return at once."""
        self._asked.put((server, time.monotonic_ns()))

    def _run(self) -> None:
        while True:
            server, asked_ns = self._asked.get()
            chosen = self._choose(server)
            if chosen is not None:
                chosen_ns = time.monotonic_ns()
                self._stop(chosen)
                self.done.append((chosen, server, asked_ns, chosen_ns, time.monotonic_ns()))
                self.has_room(server)

    def _choose(self, server: str) -> str | None:
        policy = self._settings['policy']
        running = self._node.running()
        residents = {
            name: victim.Resident('project', running[name].copy, each.get('memory_mb', 64),
                                  networks=frozenset(each.get('networks', ())))
            for name, each in zip(running, self._settings['containers'], strict=True)
            if name not in self.stopped}
        chosen: str | None = victim.choose(
            self._node.kernel.empty, residents, server,
            bandwidth.fraction_to_bandwidth(policy['most']),
            self._node.kernel.loan(running[server].pid), policy['evict'])
        return chosen

    def _stop(self, name: str) -> None:
        """Have a container end, and take back what it held, as nova-rt's driver does."""
        number = self._node.running()[name].pid
        group = self._node.kernel.group_of(number)
        domain = self._node.domain(name)
        domain.shutdownFlags(libvirt.VIR_DOMAIN_SHUTDOWN_INITCTL)
        while _runs(domain):
            time.sleep(PAUSE_S)
        if group is not None:
            self._node.kernel.take_back(group)
        self.stopped.add(name)


def _runs(domain: libvirt.virDomain) -> bool:
    try:
        return bool(domain.isActive())
    except libvirt.libvirtError:
        return False


def _nothing(server: str) -> None:
    """Do nothing."""
