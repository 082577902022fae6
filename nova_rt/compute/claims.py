# SPDX-License-Identifier: Apache-2.0
"""Claims that choose pCPUs: the compute node's final word on a reservation.

They are tested under the resource tracker's lock, so no two claims see the
same bandwidth.
"""

from nova import exception
from nova.compute import claims
from oslo_log import log as logging

from nova_rt import errors
from nova_rt import reservation
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place

LOG = logging.getLogger(__name__)


def _place(claim, flavor):
    """Return the pCPUs for a flavor's reservation, None if it has none.

    :raises ComputeResourcesUnavailable: if it does not fit, which Nova
        answers by trying the next host
    """
    try:
        wanted = flavors.reservation_of(flavor)
        if wanted is None:
            return None
        return claim.tracker.place(claim.nodename, wanted)
    except (NoRoomOnHostError, reservation.InvalidReservationError) as why:
        LOG.info('Failed to claim: %s', why, instance=claim.instance)
        raise exception.ComputeResourcesUnavailable(reason=str(why)) from None


class NoRoomOnHostError(errors.NovaRTError):
    """A reservation does not fit; names host, pCPU and what is missing."""


class RTClaim(claims.Claim):
    """The claim of a build or an unshelve."""

    def _claim_test(self, compute_node, limits=None):
        super()._claim_test(compute_node, limits)
        holdings.set_pcpus(self.instance_ref,
                       _place(self, self.instance.flavor))


class RTMoveClaim(claims.MoveClaim):
    """The claim of a resize, a migration or an evacuation."""

    def _claim_test(self, compute_node, limits=None):
        super()._claim_test(compute_node, limits)
        holdings.end_move(self.instance_ref)
        if self.tracker.fits_in_place(self.instance, self.flavor):
            in_place.note(self.instance_ref, in_place.RESIZE)
            return
        pcpus = _place(self, self.flavor)
        holding = holdings.holding_of(self.instance)
        holdings.set_pcpus(self.instance_ref, holding and holding.pcpus, holdings.OLD)
        holdings.set_pcpus(self.instance_ref, pcpus, holdings.NEW)

    def abort(self):
        super().abort()
        holdings.end_move(self.instance_ref)


# What Nova's tracker looks them up by.
Claim = RTClaim
MoveClaim = RTMoveClaim
