# SPDX-License-Identifier: Apache-2.0
"""What a server has got from the kernel on a pCPU."""

from collections.abc import Mapping
import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """What the kernel reserves for a server on one pCPU, and what became of it so far.

    Whatever the kernel does not count is None. Counts begin with the server's start.

    :ivar enforced: the bandwidth that the kernel holds for it, in fixed point
        (:mod:`nova_rt.bandwidth`)
    :ivar used_us: CPU time
    :ivar waited_us: for how long it was ready, and waited for its budget or its turn
    :ivar throttled: how often its budget was used up before a period ended
    :ivar overruns: how often it had used more than its budget when it was stopped
    """

    enforced: int
    used_us: int | None = None
    waited_us: int | None = None
    throttled: int | None = None
    overruns: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VcpuUsage(Usage):
    """What a vCPU has got that has a thread of its own: its counts go with it.

    They are of all pCPUs that it has been on since the server's start.

    :ivar vcpu: its number
    """

    vcpu: int


# Of servers, by pCPU.
ByServer = Mapping[str, Mapping[int, Usage]]
