# SPDX-License-Identifier: Apache-2.0
"""What a scheduling request asks for."""

from __future__ import annotations

from collections.abc import Mapping

from nova import objects
from nova.compute import task_states

from nova_rt import contradictions
from nova_rt import criticality
from nova_rt import kinds
from nova_rt import reservation


def reservation_of(spec: objects.RequestSpec,
                   ) -> reservation.Reservation | None:
    """Return the reservation that a request asks for, None without one.

    :raises InvalidReservationError: if it is invalid
    """
    return reservation.requested(
        _extra_specs(spec), spec.scheduler_hints or {}, spec.flavor.vcpus)


def criticality_of(spec: objects.RequestSpec, wanted: reservation.Reservation | None,
                   ) -> criticality.Criticality | None:
    """Return the criticality that a request says, None if it says none.

    :param wanted: the reservation that it asks for
    :raises InvalidReservationError: if it is none of ours, or there is no reservation
    """
    return criticality.requested(_extra_specs(spec), spec.scheduler_hints or {}, wanted)


def image_of(spec: objects.RequestSpec) -> dict[str, object]:
    """Return the properties of a request's image that concern a reservation.

    Required traits are named ``trait:NAME``, as in the image itself.
    """
    if 'image' not in spec or spec.image is None:
        return {}
    properties = spec.image.properties
    named: dict[str, object] = {
        name: getattr(properties, name)
        for name in (*contradictions.IMAGE_PROPERTIES, 'img_hv_type') if name in properties}
    traits = properties.traits_required if 'traits_required' in properties else ()
    return named | {kinds.TRAIT_PREFIX + trait: kinds.REQUIRED for trait in traits}


def kind_of(spec: objects.RequestSpec) -> kinds.Choice | None:
    """Return the kind that a request's flavor and image choose, None if neither does.

    :raises InvalidReservationError: if they choose both
    """
    return kinds.chosen(_extra_specs(spec), image_of(spec))


def take_own_flavor(spec: objects.RequestSpec, instance: objects.Instance) -> None:
    """Let the request of an existing server ask for the flavor that the server has.

    Unless that is to change: Nova writes the flavor of a resize into the request, and leaves it
    there if the resize fails.
    """
    if instance.task_state != task_states.RESIZE_PREP:
        spec.flavor = instance.flavor


def servers(spec: objects.RequestSpec) -> int:
    """Return how many servers a request wants placed.

    The number in the request is that of its first scheduling: a server that
    is moved later is one.
    """
    return 1 if moved(spec) else spec.num_instances


def moved(spec: objects.RequestSpec) -> objects.Destination | None:
    """Return where an existing server may go, None for a new one.

    Nova names the cell that an existing server is in.
    """
    if 'requested_destination' not in spec or spec.requested_destination is None:
        return None
    destination = spec.requested_destination
    return destination if 'cell' in destination and destination.cell else None


def _extra_specs(spec: objects.RequestSpec) -> Mapping[str, object]:
    return spec.flavor.extra_specs if 'extra_specs' in spec.flavor else {}
