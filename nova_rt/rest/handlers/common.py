# SPDX-License-Identifier: Apache-2.0
"""What several requests and answers have."""

from __future__ import annotations

from nova import exception
from nova import objects

from nova_rt import kinds
from nova_rt import policies
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

    Those who see servers of all projects see all flavors, others what Nova lets their project
    use.

    :raises NotFoundError: if there is none, or not for the caller
    """
    name = call.body['flavor']
    context = call.admin if call.allows(policies.SERVERS_ALL) else call.context
    try:
        return objects.Flavor.get_by_flavor_id(context, name, 'no')
    except exception.FlavorNotFound:
        pass
    try:
        return objects.Flavor.get_by_name(context, name)
    except exception.NotFound:
        raise errors.NotFoundError(
            f'There is no flavor {wording.shown(name)}: give an id or name that '
            '"openstack flavor list --all" shows.') from None


def unknown_host(name: str) -> errors.NotFoundError:
    """Return the refusal for a host that there is not."""
    return errors.NotFoundError(
        f'There is no host {wording.shown(name)}: give the name that "openstack '
        'compute service list" shows.')
