# SPDX-License-Identifier: Apache-2.0
"""The weigher that spreads or packs reservations over hosts."""

from nova.scheduler import weights
from oslo_config import cfg

from nova_rt import conf
from nova_rt import fleet
from nova_rt import reservation
from nova_rt.filters import host_view
from nova_rt.instance import request_specs

CONF = cfg.CONF
conf.register_opts(CONF)


class RTShareWeigher(weights.BaseHostWeigher):
    """Weighs a host by what the fullest pCPU needed would keep.

    The most first (spread) or the least first (pack), by
    ``[rt] host_preference``. Requests without a reservation weigh all hosts
    the same.
    """

    def weight_multiplier(self, host_state):
        """Return ``[rt] weight_multiplier``, negative to pack."""
        multiplier = CONF.rt.weight_multiplier
        return (multiplier if CONF.rt.host_preference == 'spread'
                else -multiplier)

    def weigh_objects(self, weighed_obj_list, weight_properties):
        """See base class; what is wanted is read once, not for each host."""
        try:
            wanted = request_specs.reservation_of(weight_properties)
        except reservation.InvalidReservationError:
            wanted = None
        if wanted is None:
            return [0.0] * len(weighed_obj_list)
        return super().weigh_objects(weighed_obj_list, wanted)

    def _weigh_object(self, host_state, wanted):
        seen = host_view.shares_of(host_state, wanted)
        return 0.0 if seen is None else float(fleet.headroom(seen, wanted))
