# SPDX-License-Identifier: Apache-2.0
"""Which move of one vCPU lets a server be lent more."""

from __future__ import annotations

from nova_rt import ledger
from nova_rt import shares


def find(host: shares.HostShares, holding: ledger.Holding, most: int) -> tuple[int, int] | None:
    """Return the pCPU that a vCPU is to leave, and the one that it is to have.

    It leaves the one where least can be lent, for the one where most can be: where the vCPU
    fits, and leaves more free than there is where it is now.

    :param host: with everything that is held on it
    :param holding: the server's
    :param most: the bandwidth that may be lent on each pCPU, in fixed point
    :return: None if no move lets it be lent more
    """
    bandwidth = holding.reservation.bandwidth
    source = min(holding.pcpus, key=lambda pcpu: (host.left[pcpu], pcpu))
    others = [pcpu for pcpu, capacity in enumerate(host.capacity)
              if capacity and pcpu not in holding.pcpus]
    target = max(others, key=lambda pcpu: (host.left[pcpu], -pcpu), default=None)
    if target is None or min(most, host.left[target] - bandwidth) <= min(most, host.left[source]):
        return None
    return source, target
