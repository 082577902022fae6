# SPDX-License-Identifier: Apache-2.0
"""What the applications of a server tell of their jobs."""

from __future__ import annotations

from collections.abc import Sequence

from nova_rt.metrics import servers
from nova_rt.monitor import notes
from nova_rt.monitor import reading
from nova_rt.monitor import record
from nova_rt.virt import containers


def of_container(container: servers.Server) -> Sequence[record.Record]:
    """Return what a container's applications tell; nothing if it cannot be seen."""
    try:
        return reading.of_container(containers.first_process(container.number))
    except OSError:
        return ()


def of_machine(machine: servers.Server) -> Sequence[record.Record]:
    """Return what nova-rt-compute has heard of a virtual machine since that was started."""
    return notes.records_of(machine.uuid, machine.number)
