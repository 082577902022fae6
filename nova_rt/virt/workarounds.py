# SPDX-License-Identifier: Apache-2.0
"""What libvirt does not do for containers, and Nova does not make up for."""

from __future__ import annotations

from collections.abc import Callable
import errno

from nova.virt.libvirt import driver

# How often a container is ended whose groups vanish meanwhile.
ENDS = 5


def end_despite_vanishing_groups(destroy: Callable[[], None]) -> None:
    """Destroy a domain, even if its groups vanish as libvirt reads them.

    libvirt kills a container's processes group by group, and on cgroup v2
    gives up when a group has gone with its last process. Nova would leave
    the server, and its reservation, for the user to delete once more.

    :param destroy: what Nova does to destroy the domain
    """
    for left in reversed(range(ENDS)):
        try:
            return destroy()
        except driver.libvirt.libvirtError as exc:
            if not (left and _is_group_gone(exc)):
                raise


def _is_group_gone(exc: driver.libvirt.libvirtError) -> bool:
    # Without its folder, or without a group behind a file that was open.
    return (exc.get_error_code() == driver.libvirt.VIR_ERR_SYSTEM_ERROR
            and exc.get_int1() in (errno.ENOENT, errno.ENODEV))
