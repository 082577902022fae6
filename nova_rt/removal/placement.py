# SPDX-License-Identifier: Apache-2.0
"""nova-rt's part of Placement's records: found and removed, by Placement's API.

Nothing refers to it once the servers with reservations have gone, so it goes last: the
shares allocated, then what hosts offer, then the names.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
import dataclasses
from typing import Any

from nova import context as nova_context
from nova.scheduler.client import report
from requests import Response

from nova_rt import allocations
from nova_rt import errors
from nova_rt import kinds
from nova_rt import shares

TRAITS = frozenset({shares.TRAIT, *(kind.trait for kind in kinds.Kind)})
_VERSION = '1.9'


class RefusedError(errors.NovaRTError):
    """Placement refuses to answer; says what to look at."""


@dataclasses.dataclass(frozen=True, slots=True)
class Left:
    """What Placement has of nova-rt.

    :ivar providers: by uuid, the name of each resource provider with ours on it
    :ivar names: of the resource class and the traits that it knows
    """

    providers: dict[str, str]
    names: list[str]


class Placement:
    """What nova-rt has put into Placement.

    Each method raises keystoneauth1's ClientException if Placement does not answer, and
    RefusedError if it does not as it should.

    :param client: Nova's own; the process's one by default
    """

    def __init__(self, context: nova_context.RequestContext,
                 client: report.SchedulerReportClient | None = None) -> None:
        self._context = context
        self._client = client or report.report_client_singleton()
        self._allocations = allocations.PlacementClient(context, self._client)

    def left(self) -> Left:
        """Return what is left of nova-rt."""
        names = [url.rpartition('/')[2] for url in self._urls() if self._get(url)]
        if not names:
            # Without the names there is nothing to look for on providers.
            return Left({}, [])
        return Left({uuid: name for uuid, name in self._providers()
                     if self._get(_inventory(uuid)) or TRAITS & set(self._traits(uuid)['traits'])},
                    names)

    def clear(self, nodes: Collection[str], consumers: Collection[str]) -> None:
        """Remove what can be; what somebody changes or takes meanwhile stays.

        :param nodes: the resource providers that still offer a share
        :param consumers: the servers and migrations that still have one
        :raises NovaException: if Placement refuses to change an allocation
        """
        for uuid in self.left().providers:
            allocated = self._allocations.shares_on(uuid)
            if uuid in nodes or allocated.keys() & consumers:
                continue
            for consumer in allocated:
                self._allocations.set_share(consumer, uuid, 0)
            self._delete(_inventory(uuid))
            self._clear_traits(uuid)
        for url in self._urls():
            self._delete(url)

    def _clear_traits(self, provider: str) -> None:
        traits = self._traits(provider)
        others = sorted(set(traits['traits']) - TRAITS)
        self._client.put(f'/resource_providers/{provider}/traits', {**traits, 'traits': others},
                         version=_VERSION, global_request_id=self._context.global_id)

    def _urls(self) -> Iterator[str]:
        yield f'/resource_classes/{shares.RESOURCE_CLASS}'
        for trait in sorted(TRAITS):
            yield f'/traits/{trait}'

    def _providers(self) -> Iterator[tuple[str, str]]:
        response = self._get('/resource_providers')
        for provider in response.json()['resource_providers'] if response else ():
            yield provider['uuid'], provider['name']

    def _traits(self, provider: str) -> dict[str, Any]:
        """Return the traits of a provider, with its generation."""
        response = self._get(f'/resource_providers/{provider}/traits')
        return response.json() if response else {'traits': []}

    def _get(self, url: str) -> Response | None:
        """Return the answer, None if there is no such thing.

        :raises RefusedError: if Placement answers anything else
        """
        response = self._client.get(
            url, version=_VERSION, global_request_id=self._context.global_id)
        if response.status_code == 404:
            return None
        if response.status_code >= 400:
            raise RefusedError(f'Placement answers {response.status_code} to GET {url}: see '
                               'its log, and [placement] in nova.conf.')
        return response

    def _delete(self, url: str) -> None:
        """Remove something, unless it is in use or has gone."""
        self._client.delete(url, version=_VERSION, global_request_id=self._context.global_id)


def _inventory(provider: str) -> str:
    return f'/resource_providers/{provider}/inventories/{shares.RESOURCE_CLASS}'
