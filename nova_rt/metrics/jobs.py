# SPDX-License-Identifier: Apache-2.0
"""What the applications of a server tell of their jobs."""

from __future__ import annotations

from collections.abc import Sequence

from nova_rt.monitor import reading
from nova_rt.monitor import record
from nova_rt.virt import containers


def of_container(number: int) -> Sequence[record.Record]:
    """Return what a container's applications tell; nothing if it cannot be seen.

    :param number: libvirt's id of it
    """
    try:
        return reading.of_container(containers.first_process(number))
    except OSError:
        return ()


def of_machine(number: int) -> Sequence[record.Record]:
    """Return nothing: virtual machines are not heard."""
    return ()
