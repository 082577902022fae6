# SPDX-License-Identifier: Apache-2.0
"""Which move of one vCPU lets a server be lent more."""

from __future__ import annotations

from collections.abc import Mapping
import types

from nova_rt import ledger
from nova_rt import shares

NOTHING: Mapping[int, int] = types.MappingProxyType({})


def find(host: shares.HostShares, holding: ledger.Holding, most: int,
         lent: Mapping[int, int] = NOTHING) -> tuple[int, int] | None:
    """Return the pCPU that a vCPU is to leave, and the one that it is to have.

    It leaves the one where least can be lent, for the one where most can be: where the vCPU
    fits, and leaves more free than is free, or on loan to the server, where it is now.

    :param host: with everything that is held on it
    :param holding: the server's
    :param most: the bandwidth that may be lent on each pCPU, in fixed point
    :param lent: what the server has on loan, by pCPU: of those who were stopped or shrunk for
        it, more than is free
    :return: None if no move lets it be lent more
    """
    bandwidth = holding.reservation.bandwidth
    has = {pcpu: max(host.left[pcpu], lent.get(pcpu, 0)) for pcpu in holding.pcpus}
    source = min(has, key=lambda pcpu: (has[pcpu], pcpu))
    others = [pcpu for pcpu, capacity in enumerate(host.capacity)
              if capacity and pcpu not in holding.pcpus]
    target = max(others, key=lambda pcpu: (host.left[pcpu], -pcpu), default=None)
    if target is None or min(most, host.left[target] - bandwidth) <= min(most, has[source]):
        return None
    return source, target
