# SPDX-License-Identifier: Apache-2.0
"""How a server of each kind begins to be heard."""

from __future__ import annotations

from collections.abc import Callable

from nova_rt import kinds
from nova_rt.monitor import notes
from nova_rt.monitor import port
from nova_rt.monitor import watcher as monitor_watcher
from nova_rt.virt import containers

# Of a server; returns whether it can be heard.
Listen = Callable[[monitor_watcher.Watcher, str, containers.Container], bool]


def to_container(watcher: monitor_watcher.Watcher, server: str,
                 container: containers.Container) -> bool:
    """Hear of a container by its folder.

    :return: False if it has just ended, or cannot be seen from here
    :raises OSError: if this process has too many files open
    """
    try:
        watcher.add_container(server, containers.first_process(container.pid))
    except ProcessLookupError:
        return False
    return True


def to_machine(watcher: monitor_watcher.Watcher, server: str,
               machine: containers.Container) -> bool:
    """Hear of a virtual machine by its port.

    :return: False if it has none, as it was started without, or has just ended
    :raises OSError: if the port cannot be reached, or this process has too many files open
    """
    if machine.port is None:
        return False
    try:
        stream = port.connect(machine.port)
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    watcher.add_stream(server, stream, notes.Notes(server, machine.pid))
    return True


LISTEN = {kinds.Kind.CONTAINER: to_container, kinds.Kind.MACHINE: to_machine}
