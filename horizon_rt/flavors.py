# SPDX-License-Identifier: Apache-2.0
"""Flavors with their extra specs, read and changed through Horizon's own client of Nova."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses

from django.http import HttpRequest
from openstack_dashboard import api

from horizon_rt import client
from horizon_rt import fields
from nova_rt import bandwidth
from nova_rt import flavor_specs
from nova_rt import reservation
from nova_rt import wording

_NOT_FOUND = 404


@dataclasses.dataclass(frozen=True, slots=True)
class Flavor:
    """A flavor."""

    uuid: str
    name: str
    vcpus: int
    extra_specs: Mapping[str, str]

    @property
    def fields(self) -> dict[str, str]:
        """What the form shows of it."""
        return fields.given(self.extra_specs)

    @property
    def reserves(self) -> str:
        """What it reserves, in words; empty if it reserves nothing by itself."""
        try:
            wanted = flavor_specs.check(self.extra_specs, self.vcpus)
        except reservation.InvalidReservationError as exc:
            return str(exc)
        if wanted is None:
            return ''
        return (f'{wanted.runtime_us} µs every {wanted.period_us} µs on '
                f'{wording.counted(self.vcpus, "vCPU")}, each: '
                f'{bandwidth.percent(wanted.bandwidth)} of a pCPU')


def every(request: HttpRequest) -> list[Flavor]:
    """Return all flavors, by name; their list has their extra specs.

    :raises UnansweredError: with a sentence
    """
    with client.sentences('Nova'):
        found = api.nova.flavor_list(request, is_public=None)
        return sorted(map(_flavor, found), key=lambda each: each.name)


def one(request: HttpRequest, uuid: str) -> Flavor:
    """Return a flavor.

    :raises UnansweredError: with a sentence
    """
    with client.sentences('Nova'):
        return _flavor(api.nova.flavor_get(request, uuid, get_extras=True))


def change(request: HttpRequest, flavor: Flavor, wanted: fields.Change) -> None:
    """Change a flavor's extra specs.

    Nova takes additions at once, but removals one by one, and checks each addition with
    what is there: so removals come first, and are undone if the additions are refused.

    :raises UnansweredError: with a sentence, which says so if the flavor is no longer, or
        perhaps no longer, as it was
    """
    removed: list[str] = []
    try:
        for name in wanted.removed:
            # Before: its answer may be lost.
            removed.append(name)
            _remove(request, flavor, name)
        with client.sentences('Nova'):
            api.nova.flavor_extra_set(request, flavor.uuid, dict(wanted.added))
    except client.UnansweredError as exc:
        if exc.is_refusal:
            _put_back(request, flavor, removed)
        raise client.UnansweredError(
            ' '.join((str(exc), *_differences(request, flavor))), exc.status) from exc


def _remove(request: HttpRequest, flavor: Flavor, name: str) -> None:
    try:
        with client.sentences('Nova'):
            api.nova.flavor_extra_delete(request, flavor.uuid, [name])
    except client.UnansweredError as exc:
        # Somebody else has removed it.
        if exc.status != _NOT_FOUND:
            raise


def _put_back(request: HttpRequest, flavor: Flavor, names: Iterable[str]) -> None:
    """Set extra specs as they were, if Nova lets us."""
    before = {name: flavor.extra_specs[name] for name in names}
    with contextlib.suppress(client.UnansweredError), client.sentences('Nova'):
        api.nova.flavor_extra_set(request, flavor.uuid, before)


def _differences(request: HttpRequest, before: Flavor) -> Iterator[str]:
    """Yield a sentence if a flavor is not as it was, or that is not known."""
    try:
        now = one(request, before.uuid).extra_specs
    except client.UnansweredError:
        yield 'Whether the flavor has changed is not known: look at it again.'
        return
    names = [name for name in sorted({*before.extra_specs, *now})
             if before.extra_specs.get(name) != now.get(name)]
    if names:
        yield f'The flavor has changed in {", ".join(names)}: look at it again.'


def _flavor(found: object) -> Flavor:
    return Flavor(*(getattr(found, name) for name in ('id', 'name', 'vcpus', 'extra_specs')))
