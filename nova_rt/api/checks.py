# SPDX-License-Identifier: Apache-2.0
"""Checks of the reservation that a request to nova-api asks for.

Each check takes the caller, the decoded body and what the path names. It returns
what the request adds to the share of a project, None if that is nothing or if Nova
will find a fault itself. It raises nova_rt.reservation.InvalidReservationError and
nova_rt.policies.NotAllowedError for what nova-rt refuses, and lets the errors of Nova's
lookups through.

Flavors are looked up with the caller's own context, as Nova does, and the
caller's policy is asked first: no answer tells callers of a flavor or a server
that they may not see.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools

from nova import context as nova_context
from nova import objects
from nova.api.openstack import common
from nova.compute import vm_states
import nova.conf
from nova.policies import flavor_extra_specs as extra_specs_policies
from nova.policies import servers as server_policies
from nova.policies import shelve as shelve_policies

from nova_rt import bandwidth
from nova_rt import contradictions
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import flavor_specs
from nova_rt import kinds
from nova_rt import policies
from nova_rt import reservation
from nova_rt import shares
from nova_rt import spelling
from nova_rt.api import images
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import preempted
from nova_rt.instance import request_specs
from nova_rt.limits import admission

CONF = nova.conf.CONF

# Nova reads the second only if the first is absent, even when it is empty.
HINT_KEYS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')

# The extra specs that are wrong or right only together.
_OURS = {*spelling.EXTRA_SPECS, shares.EXTRA_SPEC}
# Those of others that matter beside a reservation.
_BESIDE = {*contradictions.EXTRA_SPECS,
           *(kinds.TRAIT_PREFIX + kind.trait for kind in kinds.Kind)}

# More than Nova makes of one request, and few enough to be counted.
_MOST_SERVERS = 10 ** 9


@dataclasses.dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request.

    :ivar policy: nova-rt's rules in force
    """

    context: nova_context.RequestContext
    policy: policies.Policy

    def allows(self, rule: str, project: str) -> bool:
        """Return whether a rule of nova-rt's lets the caller do something."""
        return self.policy.allows(self.context, rule, project)


def check_create(caller: Caller, body: object) -> admission.Demand | None:
    """Check a new server: its hints over its flavor."""
    context = caller.context
    server = _mapping(body, 'server')
    flavor_ref = server.get('flavorRef')
    if not isinstance(flavor_ref, (int, float, str)):
        return None
    target = {'project_id': context.project_id, 'user_id': context.user_id,
              'availability_zone': server.get('availability_zone')}
    if not context.can(server_policies.SERVERS % 'create', target,
                       fatal=False):
        return None
    hints = _hints(body)
    flavor = _flavor(context, common.get_id_from_href(flavor_ref))
    wanted = _check_server(flavor, hints,
                           functools.partial(images.of_new_server, context, server))
    if wanted is None:
        return None
    # Nova refuses a server that no project would own.
    project = context.project_id or ''
    if (reservation.times_from_hints(hints) != reservation.Times()
            and not caller.allows(policies.HINT, project)):
        raise policies.NotAllowedError(
            f'Your roles do not allow {policies.HINT}: choose a flavor with the reservation, '
            'and give no hint for it.')
    _check_beyond(caller, project, flavor, hints, wanted)
    _check_criticality(caller, project, flavor, hints)
    return admission.Demand(project, _count(server) * wanted.share)


def check_action(caller: Caller, body: object,
                 server_id: str) -> admission.Demand | None:
    """Check a resize: the server's stored hints and its image with the new flavor.

    A rebuild as well: its flavor and its stored hints with the new image. A server
    without a host that is unshelved takes up its share again. Other actions keep all.
    """
    flavor_ref = _mapping(body, 'resize').get('flavorRef')
    image_ref = _mapping(body, 'rebuild').get('imageRef')
    if isinstance(flavor_ref, (int, float, str)):
        return _check_resize(caller, server_id, str(flavor_ref))
    if isinstance(image_ref, str):
        _check_rebuild(caller.context, server_id, image_ref)
    elif isinstance(body, dict) and 'unshelve' in body:
        return _unshelved(caller.context, server_id)
    return None


def _check_resize(caller: Caller, server_id: str,
                  flavor_id: str) -> admission.Demand | None:
    context = caller.context
    found = _server_of(context, server_id, server_policies.SERVERS % 'resize')
    if found is None:
        return None
    spec, instance = found
    flavor = _flavor(context, flavor_id)
    hints = _stored_hints(spec)
    if instance is not None and preempted.MARK in instance.system_metadata:
        # Its stored hint is what it has for now, not what its user has asked for.
        raise reservation.InvalidReservationError(
            'This server has less than its reservation for a while, as a more critical one needs '
            'the room: resize it when it has all of it again. Its events tell when.')
    wanted = _check_server(flavor, hints,
                           functools.partial(request_specs.image_of, spec))
    if wanted is None:
        return None
    _check_beyond(caller, spec.project_id, flavor, hints, wanted)
    _check_criticality(caller, spec.project_id, flavor, hints)
    return admission.Demand(spec.project_id, wanted.share, server_id)


def _check_rebuild(context: nova_context.RequestContext, server_id: str,
                   image_ref: str) -> None:
    found = _server_of(context, server_id, server_policies.SERVERS % 'rebuild')
    if found is not None and request_specs.reservation_of(found[0]):
        _check_together(found[0].flavor.extra_specs,
                        images.properties(context, image_ref))


def _unshelved(context: nova_context.RequestContext,
               server_id: str) -> admission.Demand | None:
    found = _server_of(context, server_id, shelve_policies.POLICY_ROOT % 'unshelve')
    if found is None:
        return None
    spec, instance = found
    has = request_specs.reservation_of(spec)
    if has is None or instance is None or instance.vm_state != vm_states.SHELVED_OFFLOADED:
        return None
    return admission.Demand(spec.project_id, has.share)


def check_extra_specs(caller: Caller, body: object,
                      flavor_id: str, key: str | None = None) -> None:
    """Check extra specs that are added to a flavor.

    :param key: the extra spec that the path names; without it, the body
        holds any number of them
    """
    context = caller.context
    action = 'update' if key else 'create'
    if not context.can(extra_specs_policies.POLICY_ROOT % action, target={},
                       fatal=False):
        return
    added = body if key else _mapping(body, 'extra_specs')
    if not isinstance(added, dict):
        return
    spelling.check_extra_spec_names(added)
    ours = not added.keys().isdisjoint(_OURS)
    if not ours and added.keys().isdisjoint(_BESIDE):
        return
    flavor = objects.Flavor.get_by_flavor_id(context, flavor_id)
    together = {**flavor.extra_specs, **added}
    try:
        described = flavor_specs.check(together, flavor.vcpus)
    except reservation.InvalidReservationError:
        if ours:
            raise
        # It was wrong before: what is added now may still be meant.
        return
    if described:
        reservation.check_cap(described, _cap())
        _check_together(together, {})


def _server_of(context: nova_context.RequestContext, server_id: str,
               rule: str) -> tuple[objects.RequestSpec, objects.Instance | None] | None:
    """Return the request of a server, for what that is, and the server.

    :returns: None if Nova's rule keeps the caller from this; no server if no cell has it yet
    """
    server = objects.InstanceMapping.get_by_instance_uuid(context, server_id)
    target = {'user_id': server.user_id, 'project_id': server.project_id}
    if not (context.is_admin or context.project_id == server.project_id):
        return None
    if not context.can(rule, target, fatal=False):
        return None
    spec = objects.RequestSpec.get_by_instance_uuid(context, server_id)
    instance = holdings.find(context, server_id)
    if instance is not None:
        request_specs.take_own_flavor(spec, instance)
    return spec, instance


def _stored_hints(spec: objects.RequestSpec) -> Mapping[str, object]:
    hints = spec.scheduler_hints if 'scheduler_hints' in spec else None
    return hints or {}


def _flavor(context: nova_context.RequestContext, flavor_id: str) -> objects.Flavor:
    return objects.Flavor.get_by_flavor_id(context, flavor_id, 'no')


def _check_server(flavor: objects.Flavor, hints: Mapping[str, object],
                  image: Callable[[], Mapping[str, object]],
                  ) -> reservation.Reservation | None:
    """Check a server's flavor with its hints and its image.

    :param image: returns its properties; called only if there is a reservation
    :returns: the reservation that it asks for
    """
    # What was set before the filter was there, or past it.
    spelling.check_extra_spec_names(flavor.extra_specs)
    shares.check_extra_spec(flavor.extra_specs, flavor.vcpus)
    wanted = reservation.requested(flavor.extra_specs, hints, flavor.vcpus)
    criticality.requested(flavor.extra_specs, hints, wanted)
    elastic.requested(flavor.extra_specs, hints, wanted)
    if wanted:
        reservation.check_cap(wanted, _cap())
        _check_together(flavor.extra_specs, {})
        _check_together(flavor.extra_specs, image())
    return wanted


def _check_beyond(caller: Caller, project: str, flavor: objects.Flavor,
                  hints: Mapping[str, object], wanted: reservation.Reservation) -> None:
    """Check whether the caller may have more than the flavor's own bandwidth."""
    most = flavors.own_bandwidth(flavor)
    if wanted.bandwidth > most and not caller.allows(policies.HINT_BEYOND, project):
        raise policies.NotAllowedError(
            f'The flavor reserves {bandwidth.percent(most)} of a CPU for each vCPU, the hints '
            f'ask for {bandwidth.percent(wanted.bandwidth)}, and your roles do not allow '
            f'{policies.HINT_BEYOND}: choose a flavor that reserves more.')
    # Of an elastic flavor, only that is always there.
    least_us, asked_us = elastic.in_extra_specs(flavor.extra_specs), elastic.in_hints(hints)
    if (least_us is not None and asked_us is not None and asked_us > least_us
            and not caller.allows(policies.HINT_BEYOND, project)):
        raise policies.NotAllowedError(
            f"The flavor's least runtime is {least_us} µs, the hint asks for {asked_us} µs, "
            f'and your roles do not allow {policies.HINT_BEYOND}: choose a flavor with more.')


def _check_criticality(caller: Caller, project: str, flavor: objects.Flavor,
                       hints: Mapping[str, object]) -> None:
    """Check whether the caller may have a higher criticality than the flavor's own."""
    asked = criticality.in_hints(hints)
    own = flavors.criticality_of(flavor)
    if (criticality.counted(asked) > criticality.counted(own)
            and not caller.allows(policies.HINT_CRITICALITY, project)):
        raise policies.NotAllowedError(
            f"The flavor's criticality is {criticality.shown(own)}, the hint asks for "
            f'{criticality.shown(asked)}, and your roles do not allow '
            f'{policies.HINT_CRITICALITY}: choose a flavor with a higher one.')


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
    asked = []
    for hints in given:
        spelling.check_hint_names(hints)
        asked.append((reservation.times_from_hints(hints), criticality.in_hints(hints),
                      elastic.in_hints(hints)))
    if not isinstance(body, dict) or HINT_KEYS[0] not in body:
        return given[1]
    if asked[1] not in ((reservation.Times(), None, None), asked[0]):
        raise reservation.InvalidReservationError(
            f'{HINT_KEYS[1]} asks for another reservation than '
            f'{HINT_KEYS[0]}: give the hints under {HINT_KEYS[0]} only.')
    return given[0]


def _count(server: Mapping[str, object]) -> int:
    """Return how many servers are asked for at most; 1 for what Nova will refuse."""
    count = server.get('max_count') or server.get('min_count') or 1
    if not isinstance(count, (int, float, str)):
        return 1
    try:
        # As Nova reads it, whose schema takes 5.0, '0000000005' and '5\n', too.
        return min(max(int(count), 1), _MOST_SERVERS)
    except (ValueError, OverflowError):
        return 1


def _mapping(body: object, key: str) -> Mapping[str, object]:
    """Return the object at this key; an empty one if there is none."""
    value = body.get(key) if isinstance(body, dict) else None
    return value if isinstance(value, dict) else {}
