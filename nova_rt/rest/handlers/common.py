# SPDX-License-Identifier: Apache-2.0
"""What several requests and answers have."""

from __future__ import annotations

from nova import exception
from nova import objects

from nova_rt import kinds
from nova_rt import reservation
from nova_rt import wording
from nova_rt.rest import errors
from nova_rt.rest.endpoints import Call
from nova_rt.rest.endpoints import Json


def of_reservation(wanted: reservation.Reservation | None) -> Json | None:
    """Return a reservation as the API has it."""
    if wanted is None:
        return None
    return {'runtime_us': wanted.runtime_us, 'period_us': wanted.period_us,
            'vcpus': wanted.vcpus, 'bandwidth': wanted.bandwidth}


def of_kind(kind: kinds.Kind | None) -> str | None:
    """Return a kind as the API has it."""
    return kind.value if kind else None


def flavor(call: Call) -> objects.Flavor:
    """Return the flavor that the body names, by id or name.

    :raises NotFoundError: if there is none
    """
    name = call.body['flavor']
    try:
        return objects.Flavor.get_by_flavor_id(call.admin, name, 'no')
    except exception.FlavorNotFound:
        pass
    try:
        return objects.Flavor.get_by_name(call.admin, name)
    except exception.NotFound:
        raise errors.NotFoundError(
            f'There is no flavor {wording.shown(name)}: give an id or name that '
            '"openstack flavor list --all" shows.') from None


def unknown_host(name: str) -> errors.NotFoundError:
    """Return the refusal for a host that there is not."""
    return errors.NotFoundError(
        f'There is no host {wording.shown(name)}: give the name that "openstack '
        'compute service list" shows.')
