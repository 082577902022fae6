# SPDX-License-Identifier: Apache-2.0
"""Who is lent how much, and for how long."""

from __future__ import annotations

import dataclasses

from oslo_config import cfg

from nova_rt import bandwidth
from nova_rt.reaction import threshold


@dataclasses.dataclass(frozen=True, slots=True)
class LoanPolicy:
    """The operator's.

    :ivar after: the misses after which a server is lent something; None for never
    :ivar most: bandwidth on each pCPU, in fixed point
    :ivar for_s: how long, from the last time that the misses were too many
    :ivar shrinks: whether less critical elastic servers are shrunk for it
    """

    after: threshold.Threshold | None
    most: int
    for_s: float
    shrinks: bool = True


def from_options(conf: cfg.ConfigOpts) -> LoanPolicy:
    """Return the policy that nova.conf has.

    :param conf: with group ``[rt]`` registered
    """
    misses = conf.rt.lend_after_misses
    return LoanPolicy(
        threshold.Threshold(misses, conf.rt.miss_window) if misses else None,
        bandwidth.fraction_to_bandwidth(conf.rt.lend_most), conf.rt.lend_for,
        conf.rt.shrink_elastic)
