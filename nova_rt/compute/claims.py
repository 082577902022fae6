# SPDX-License-Identifier: Apache-2.0
"""Claims that choose pCPUs: the compute node's final word on a reservation.

They are tested under the resource tracker's lock, so no two claims see the
same bandwidth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Protocol

from nova import exception
from nova import objects
from nova.compute import claims
from nova.objects import fields
from oslo_log import log as logging

from nova_rt import closing
from nova_rt import criticality
from nova_rt import errors
from nova_rt import reservation
from nova_rt import shares
from nova_rt.compute import due_shares
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place

LOG = logging.getLogger(__name__)


class NoRoomOnHostError(errors.NovaRTError):
    """A reservation does not fit; names host, pCPU and what is missing.

    Without a full stop: Nova puts it into a sentence of its own.
    """


class Tracker(Protocol):
    """What a claim asks of the resource tracker."""

    host: str
    compute_nodes: dict[str, objects.ComputeNode]

    def takes(self) -> frozenset[criticality.Criticality]:
        """Return the criticalities of the servers that this host takes."""

    def closed_until(self) -> float | None:
        """Return until when this host takes no new servers, by the clock of the wall."""

    def place(self, nodename: str, wanted: reservation.Reservation) -> tuple[int, ...]:
        """Choose pCPUs for a reservation.

        :raises NoRoomOnHostError: if it does not fit
        """

    def fits_in_place(self, instance: objects.Instance, flavor: objects.Flavor) -> bool:
        """Return whether a server can be given a flavor without a restart."""


class RTClaim(claims.Claim):
    """The claim of a build or an unshelve."""

    tracker: Tracker

    def _claim_test(self, compute_node: objects.ComputeNode, limits: Any = None) -> None:
        super()._claim_test(compute_node, limits)
        holdings.set_pcpus(self.instance_ref, _place(
            self.tracker, self, self.instance.flavor))


class RTMoveClaim(claims.MoveClaim):
    """The claim of a resize, a migration or an evacuation."""

    tracker: Tracker

    def _claim_test(self, compute_node: objects.ComputeNode, limits: Any = None) -> None:
        super()._claim_test(compute_node, limits)
        if self.tracker.fits_in_place(self.instance, self.flavor):
            holdings.end_move(self.instance_ref)
            in_place.begin(self.instance_ref, in_place.RESIZE)
            return
        pcpus = _place(self.tracker, self, self.flavor)
        if self.migration.migration_type == fields.MigrationType.EVACUATION and (
                holdings.has_sides(self.instance)
                or holdings.HINT_DUE in self.instance.system_metadata):
            # Its host died while it changed: what was allocated may be for the other flavor.
            due_shares.mark(self.instance_ref)
            if in_place.by_hint(self.instance):
                in_place.end_interrupted(self.instance_ref)
        holdings.end_move(self.instance_ref)
        holding = holdings.holding_of(self.instance)
        holdings.set_pcpus(self.instance_ref,
                           holding.pcpus if holding else None, holdings.OLD)
        holdings.set_pcpus(self.instance_ref, pcpus, holdings.NEW)

    def abort(self) -> None:
        """See base class; neither side of the move is held any more."""
        super().abort()
        holdings.end_move(self.instance_ref)


def forget_move(instance: objects.Instance, host: str) -> None:
    """Forget both sides of a move whose claim failed.

    Not what the server's own host was at when it died: it ends that when it is back.

    :param host: where the claim failed
    """
    if instance.host == host or not in_place.begun(instance):
        holdings.end_move(instance)


def check_allocated(tracker: Tracker, instance: objects.Instance, flavor: objects.Flavor,
                    nodename: str, allocations: Mapping[str, Any] | None) -> None:
    """See that a server fits in place where Placement has allocated only what that adds.

    :raises ComputeResourcesUnavailable: if it does not
    """
    if instance.host != tracker.host:
        return
    wanted = flavors.reservation_of(flavor)
    here = (allocations or {}).get(tracker.compute_nodes[nodename].uuid, {})
    has = here.get('resources', {}).get(shares.RESOURCE_CLASS, 0)
    if wanted and has < wanted.share and not tracker.fits_in_place(instance, flavor):
        raise exception.ComputeResourcesUnavailable(
            reason=f'{nodename} no longer has room to change the reservation in place: try again')


def _place(tracker: Tracker, claim: claims.Claim, flavor: objects.Flavor) -> tuple[int, ...] | None:
    """Return the pCPUs for a flavor's reservation, None if it has none.

    :raises ComputeResourcesUnavailable: if it does not fit, which Nova
        answers by trying the next host
    """
    try:
        wanted = flavors.reservation_of(flavor)
        if wanted is None:
            return None
        refusal = (criticality.refusal(tracker.takes(), flavors.criticality_of(flavor))
                   or closing.refusal(tracker.closed_until()))
        if refusal is not None:
            raise NoRoomOnHostError(f'{claim.nodename} {refusal}')
        return tracker.place(claim.nodename, wanted)
    except (NoRoomOnHostError, reservation.InvalidReservationError) as exc:
        LOG.info('Failed to claim: %s', exc, instance=claim.instance)
        raise exception.ComputeResourcesUnavailable(
            reason=str(exc).removesuffix('.')) from None


# The names by which Nova's tracker looks them up.
Claim = RTClaim
MoveClaim = RTMoveClaim
