# SPDX-License-Identifier: Apache-2.0
"""Checks of the reservation that a request to nova-api asks for.

Each check takes the caller's request context, the decoded body and what the
path names. It returns if nothing is wrong, or if Nova will find the fault itself;
it raises nova_rt.reservation.InvalidReservationError for what nova-rt refuses, and
lets the errors of Nova's lookups through.

Flavors are looked up with the caller's own context, as Nova does, and the
caller's policy is asked first: no answer tells callers of a flavor or a server
that they may not see.
"""

from collections.abc import Callable
from collections.abc import Mapping
import functools

from nova import context as nova_context
from nova import objects
from nova.api.openstack import common
import nova.conf
from nova.policies import flavor_extra_specs as extra_specs_policies
from nova.policies import servers as server_policies

from nova_rt import bandwidth
from nova_rt import contradictions
from nova_rt import kinds
from nova_rt import reservation
from nova_rt import spelling
from nova_rt.api import images
from nova_rt.instance import request_specs

CONF = nova.conf.CONF

# Nova reads the second only if the first is absent, even when it is empty.
HINT_KEYS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')

# The extra specs of others that matter beside a reservation.
_BESIDE = {*contradictions.EXTRA_SPECS,
           *(kinds.TRAIT_PREFIX + kind.trait for kind in kinds.Kind)}


def check_create(context: nova_context.RequestContext, body: object) -> None:
    """Check a new server: its hints over its flavor."""
    server = _mapping(body, 'server')
    flavor_ref = server.get('flavorRef')
    if not isinstance(flavor_ref, (int, str)):
        return
    target = {'project_id': context.project_id, 'user_id': context.user_id,
              'availability_zone': server.get('availability_zone')}
    if not context.can(server_policies.SERVERS % 'create', target,
                       fatal=False):
        return
    _check_server(context, common.get_id_from_href(flavor_ref), _hints(body),
                  functools.partial(images.of_new_server, context, server))


def check_action(context: nova_context.RequestContext, body: object,
                 server_id: str) -> None:
    """Check a resize: the server's stored hints and its image with the new flavor.

    A rebuild as well: its flavor and its stored hints with the new image. Other
    actions keep both.
    """
    flavor_ref = _mapping(body, 'resize').get('flavorRef')
    image_ref = _mapping(body, 'rebuild').get('imageRef')
    if isinstance(flavor_ref, (int, str)):
        spec = _spec_of(context, server_id, 'resize')
        if spec is not None:
            _check_server(context, str(flavor_ref), _stored_hints(spec),
                          functools.partial(request_specs.image_of, spec))
    elif isinstance(image_ref, str):
        spec = _spec_of(context, server_id, 'rebuild')
        if spec is not None and request_specs.reservation_of(spec):
            _check_together(spec.flavor.extra_specs,
                            images.properties(context, image_ref))


def check_extra_specs(context: nova_context.RequestContext, body: object,
                      flavor_id: str, key: str | None = None) -> None:
    """Check extra specs that are added to a flavor.

    :param key: the extra spec that the path names; without it, the body
        holds any number of them
    """
    action = 'update' if key else 'create'
    if not context.can(extra_specs_policies.POLICY_ROOT % action, target={},
                       fatal=False):
        return
    added = body if key else _mapping(body, 'extra_specs')
    if not isinstance(added, dict):
        return
    spelling.check_extra_spec_names(added)
    ours = not added.keys().isdisjoint(reservation.EXTRA_SPECS)
    if not ours and added.keys().isdisjoint(_BESIDE):
        return
    flavor = objects.Flavor.get_by_flavor_id(context, flavor_id)
    together = {**flavor.extra_specs, **added}
    try:
        described = reservation.described(together, flavor.vcpus)
    except reservation.InvalidReservationError:
        if ours:
            raise
        # It was wrong before: what is added now may still be meant.
        return
    if described:
        reservation.check_cap(described, _cap())
        _check_together(together, {})


def _spec_of(context: nova_context.RequestContext, server_id: str,
             action: str) -> objects.RequestSpec | None:
    """Return a server's request, None if the caller may not do this with it."""
    server = objects.InstanceMapping.get_by_instance_uuid(context, server_id)
    target = {'user_id': server.user_id, 'project_id': server.project_id}
    if not (context.is_admin or context.project_id == server.project_id):
        return None
    if not context.can(server_policies.SERVERS % action, target, fatal=False):
        return None
    return objects.RequestSpec.get_by_instance_uuid(context, server_id)


def _stored_hints(spec: objects.RequestSpec) -> Mapping[str, object]:
    hints = spec.scheduler_hints if 'scheduler_hints' in spec else None
    return hints or {}


def _check_server(context: nova_context.RequestContext, flavor_id: str,
                  hints: Mapping[str, object],
                  image: Callable[[], Mapping[str, object]]) -> None:
    """Check a server's flavor with its hints and its image.

    :param image: returns its properties; called only if there is a reservation
    """
    flavor = objects.Flavor.get_by_flavor_id(context, flavor_id, 'no')
    # What was set before the filter was there, or past it.
    spelling.check_extra_spec_names(flavor.extra_specs)
    wanted = reservation.requested(flavor.extra_specs, hints, flavor.vcpus)
    if wanted:
        reservation.check_cap(wanted, _cap())
        _check_together(flavor.extra_specs, {})
        _check_together(flavor.extra_specs, image())


def _check_together(extra_specs: Mapping[str, object],
                    image: Mapping[str, object]) -> None:
    """Check what a flavor and an image ask for beside a reservation."""
    contradictions.check(extra_specs, image)
    kinds.chosen(extra_specs, image)


def _cap() -> int:
    return bandwidth.fraction_to_bandwidth(CONF.rt.cap)


def _hints(body: object) -> Mapping[str, object]:
    """Return the hints that Nova will take from the body of a new server."""
    given = [_mapping(body, key) for key in HINT_KEYS]
    times = []
    for hints in given:
        spelling.check_hint_names(hints)
        times.append(reservation.times_from_hints(hints))
    if not isinstance(body, dict) or HINT_KEYS[0] not in body:
        return given[1]
    if times[1] not in (reservation.Times(), times[0]):
        raise reservation.InvalidReservationError(
            f'{HINT_KEYS[1]} asks for another reservation than '
            f'{HINT_KEYS[0]}: give the hints under {HINT_KEYS[0]} only.')
    return given[0]


def _mapping(body: object, key: str) -> Mapping[str, object]:
    """Return the object at this key; an empty one if there is none."""
    value = body.get(key) if isinstance(body, dict) else None
    return value if isinstance(value, dict) else {}
