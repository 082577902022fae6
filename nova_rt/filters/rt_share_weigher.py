# SPDX-License-Identifier: Apache-2.0
"""The weigher that spreads or packs reservations over hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nova import objects
from nova.scheduler import host_manager
from nova.scheduler import weights
from oslo_config import cfg

from nova_rt import conf
from nova_rt import fleet
from nova_rt import ranking
from nova_rt import reservation
from nova_rt.filters import host_view
from nova_rt.filters import request_state

CONF = cfg.CONF
conf.register_opts(CONF)


class RTShareWeigher(weights.BaseHostWeigher):
    """Weighs a host by what a request's reservation would leave on it.

    A server that says its criticality ranks hosts by that (RT-Kube, Algorithm 2). For
    others ``[rt] host_preference`` says whether the host is preferred whose fullest pCPU
    needed keeps the most (spread) or the least (pack). Requests without a reservation
    weigh all hosts the same.
    """

    def __init__(self) -> None:
        self._curve = ranking.Curve(
            CONF.rt.criticality_b_turn, CONF.rt.criticality_b_rise, CONF.rt.criticality_b_fall)

    def weight_multiplier(self, host_state: host_manager.HostState) -> float:
        """Return ``[rt] weight_multiplier``."""
        multiplier: float = CONF.rt.weight_multiplier
        return multiplier

    def weigh_objects(self, weighed_obj_list: Sequence[Any],
                      weight_properties: objects.RequestSpec) -> Sequence[float]:
        """See base class; the request is looked up once, not for each host."""
        try:
            state = request_state.of(weight_properties)
        except reservation.InvalidReservationError:
            return [0.0] * len(weighed_obj_list)
        if state.wanted is None:
            return [0.0] * len(weighed_obj_list)
        return super().weigh_objects(weighed_obj_list, state)

    def _weigh_object(self, host_state: host_manager.HostState,
                      state: request_state.RequestState) -> float:
        wanted = state.wanted
        seen = host_view.shares_of(host_state, state, wanted) if wanted else None
        if wanted is None or seen is None:
            return 0.0
        if state.asked is not None:
            return ranking.rank(state.asked, ranking.fraction_left(seen, wanted), self._curve)
        headroom = float(fleet.headroom(seen, wanted))
        return headroom if CONF.rt.host_preference == 'spread' else -headroom
