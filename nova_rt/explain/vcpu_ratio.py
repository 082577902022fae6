# SPDX-License-Identifier: Apache-2.0
"""Hosts of which Placement gives out fewer vCPUs than their bandwidth is enough for.

A server takes one of Placement's VCPU for each vCPU, besides its share. With small
reservations these run out first unless ``cpu_allocation_ratio`` is high enough, and Nova
then says nothing but that no host is valid.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import itertools
import math

from nova import context as nova_context
from nova import objects

from nova_rt import reservation
from nova_rt import shares
from nova_rt.filters import host_view
from nova_rt.instance import flavors
from nova_rt.view import nodes


@dataclasses.dataclass(frozen=True, slots=True)
class TooLow:
    """A host's ratio that a flavor finds too low; as a string, a sentence.

    :ivar ratio: the host's ``cpu_allocation_ratio``
    :ivar most: how many vCPUs it lets run
    :ivar fitting: how many vCPUs of the flavor the bandwidth is enough for
    :ivar least: the smallest whole ratio that lets all of them run
    """

    host: str
    flavor: str
    ratio: float
    most: int
    fitting: int
    least: int

    def __str__(self) -> str:
        """Say what is too low, and what to set."""
        return (f'{self.host} has bandwidth for {self.fitting} vCPUs of flavor {self.flavor}, '
                f'but its cpu_allocation_ratio of {self.ratio:g} lets {self.most} run: set '
                f'[DEFAULT] cpu_allocation_ratio to {self.least} in its nova.conf.')


def lowest(context: nova_context.RequestContext) -> TooLow | None:
    """Return the host and the flavor that need the largest ratio above the host's.

    Cells that do not answer are left out.

    :returns: None if every host's ratio is high enough
    """
    reservations = list(_reservations(context))
    found = [low for node in nodes.every(context) for flavor, wanted in reservations
             if (low := _look_at(node.node, flavor, wanted))]
    return max(found, key=lambda low: low.least, default=None)


def _reservations(context: nova_context.RequestContext,
                  ) -> Iterator[tuple[str, reservation.Reservation]]:
    for flavor in objects.FlavorList.get_all(context):
        with contextlib.suppress(reservation.InvalidReservationError):
            wanted = flavors.reservation_of(flavor)
            if wanted is not None:
                yield flavor.name, wanted


def _look_at(node: objects.ComputeNode, flavor: str,
             wanted: reservation.Reservation) -> TooLow | None:
    reported = host_view.reported_by(node)
    if reported is None:
        return None
    fitting = _fitting(reported, wanted)
    most = int(node.vcpus * node.cpu_allocation_ratio)
    if fitting <= most or not node.vcpus:
        return None
    return TooLow(node.host, flavor, node.cpu_allocation_ratio, most, fitting,
                  math.ceil(fitting / node.vcpus))


def _fitting(reported: shares.HostShares, wanted: reservation.Reservation) -> int:
    """Return how many vCPUs the bandwidth is enough for on an empty host."""
    by_pcpu = [capacity // wanted.bandwidth for capacity
               in itertools.compress(reported.capacity, reported.capacity)]
    if reported.occupancy is shares.Occupancy.EVERY:
        return min(by_pcpu) * wanted.vcpus
    return sum(by_pcpu)
