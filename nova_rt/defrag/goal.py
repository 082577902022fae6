# SPDX-License-Identifier: Apache-2.0
"""What moves are to achieve: enough bandwidth left on enough pCPUs.

A reservation of bandwidth b with m vCPUs fits where m pCPUs have b left. A host is
balanced where *every* pCPU has b left, for the largest b that moves can reach: the
room that worst-fit, too, keeps on the fullest. So either goal is a bandwidth and a
number of pCPUs.
"""

import dataclasses

from nova_rt import reservation
from nova_rt.defrag.layout import Layout


@dataclasses.dataclass(frozen=True, slots=True)
class Goal:
    """So many pCPUs have at least so much left.

    :ivar bandwidth: in fixed point, positive
    :ivar pcpus: how many
    """

    bandwidth: int
    pcpus: int

    @classmethod
    def room_for(cls, wanted: reservation.Reservation) -> 'Goal':
        """Return the goal that lets a reservation in."""
        return cls(wanted.bandwidth, wanted.vcpus)

    def met(self, layout: Layout) -> bool:
        """Return whether a layout has that much left on that many pCPUs."""
        return self.pcpus <= sum(
            1 for pcpu in layout.usable if layout.left[pcpu] >= self.bandwidth)
