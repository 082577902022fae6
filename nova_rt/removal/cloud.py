# SPDX-License-Identifier: Apache-2.0
"""What is left of nova-rt in the databases of all cells and in Placement.

A host is removed while no compute service runs there: nova-rt-compute would report
again what is removed, and nova-compute of Nova 34 does not start while a share of its
host is allocated.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
from typing import Protocol

from nova import context as nova_context
from nova import exception
from nova import objects
from nova import servicegroup
import sqlalchemy as sa

from nova_rt.db import history
from nova_rt.db import problems
from nova_rt.removal import flavors
from nova_rt.removal import placement
from nova_rt.removal import records
from nova_rt.removal import remnants


class Database(Protocol):
    """A database of Nova's."""

    @property
    def name(self) -> str:
        """The cell's name."""

    def connection(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """Connect in autocommit mode."""


class Cloud:
    """A deployment, as its databases and Placement have it.

    Each method raises what SQLAlchemy and keystoneauth1 do where one does not answer;
    what was done until then need not be repeated.

    :param api: the API database
    :param cells: the database of every cell
    """

    def __init__(self, context: nova_context.RequestContext, api: Database,
                 cells: Sequence[Database], there: placement.Placement) -> None:
        self._context = context
        self._api = api
        self._cells = cells
        self._placement = there

    def left(self) -> Iterator[remnants.Remnant]:
        """Yield what is left, in the order in which to remove it."""
        up = _hosts_up(self._context)
        for cell in self._cells:
            with cell.connection() as connection:
                yield from _in_use(connection, up)
        for cell in self._cells:
            with cell.connection() as connection:
                yield from _in_rows(cell.name, connection, up)
        yield from self._in_requests()
        yield from self._in_placement()
        yield from flavors.left(objects.FlavorList.get_all(self._context))

    def clean(self, abandon: bool) -> None:
        """Remove what no server and no compute service needs any more.

        :param abandon: whether servers that have a reservation run on without one
        """
        up = _hosts_up(self._context)
        nodes: set[str] = set()
        consumers: set[str] = set()
        with self._api.connection() as api:
            for cell in self._cells:
                with cell.connection() as connection:
                    managed = [node for node in records.nodes(connection) if node.host in up]
                    self._forget_servers(
                        connection, api, abandon, {node.host for node in managed})
                    records.forget_unreported(connection, up)
                    nodes.update(node.uuid for node in managed)
                    for server in _reserved(connection):
                        consumers |= {server, *records.migrations(connection, server)}
            for server in records.requests(api) - consumers:
                records.forget_request(api, server, self._extra_specs)
        self._placement.clear(nodes, consumers)

    def _forget_servers(self, cell: sa.Connection, api: sa.Connection, abandon: bool,
                        managed: Collection[str]) -> None:
        """Forget deleted servers, and those that no longer have a reservation."""
        past = records.past_servers(cell)
        past.update(server.uuid for server in records.servers(cell)
                    if server.task_state is None and server.host not in managed
                    and (abandon or not server.reserved))
        for server in past:
            records.forget_server(cell, api, server, self._extra_specs)

    def _extra_specs(self, flavorid: str) -> Mapping[str, str]:
        try:
            return objects.Flavor.get_by_flavor_id(self._context, flavorid).extra_specs
        except exception.FlavorNotFound:
            return {}

    def _reserved(self) -> set[str]:
        reserved = set()
        for cell in self._cells:
            with cell.connection() as connection:
                reserved |= _reserved(connection)
        return reserved

    def _in_requests(self) -> Iterator[remnants.Remnant]:
        with self._api.connection() as api:
            past = len(records.requests(api) - self._reserved())
        if past:
            yield remnants.Remnant(
                'API database', f'{past} requests name a share', remnants.CLEAN)

    def _in_placement(self) -> Iterator[remnants.Remnant]:
        left = self._placement.left()
        if left.providers:
            yield remnants.Remnant(
                'Placement', f'{len(left.providers)} resource providers offer a share: '
                f'{remnants.some(sorted(left.providers.values()))}', remnants.CLEAN)
        if left.names:
            yield remnants.Remnant(
                'Placement', f'it knows {", ".join(left.names)}', remnants.CLEAN)


def _hosts_up(context: nova_context.RequestContext) -> set[str]:
    """Return the hosts whose compute service is up.

    :raises UnusableDatabaseError: if a cell does not answer, as its hosts may be
    """
    by_cell = nova_context.scatter_gather_skip_cell0(
        context, objects.ServiceList.get_by_binary, 'nova-compute', include_disabled=True)
    up: set[str] = set()
    for services in by_cell.values():
        if not isinstance(services, objects.ServiceList):
            raise problems.UnusableDatabaseError(
                'A cell does not answer: look at its connection with "nova-manage cell_v2 '
                'list_cells", and run this again.')
        up.update(service.host for service in services
                  if servicegroup.API().service_is_up(service))
    return up


def _reserved(cell: sa.Connection) -> set[str]:
    return {server.uuid for server in records.servers(cell) if server.reserved}


def _in_use(cell: sa.Connection, up: Collection[str]) -> Iterator[remnants.Remnant]:
    """Yield the hosts and servers that need nova-rt."""
    for node in records.nodes(cell):
        if node.host in up:
            yield remnants.Remnant(
                f'host {node.host}', 'its compute service is nova-rt-compute', 'stop it')
    for server in records.servers(cell):
        if server.evicted:
            yield remnants.Remnant(
                f'server {server.uuid}', f'{server.name} is stopped for a more critical one '
                'that missed deadlines',
                f'openstack server start {server.uuid}; {remnants.ABANDON} leaves it stopped')
        if server.reserved:
            yield remnants.Remnant(
                f'server {server.uuid}', f'{server.name} has a reservation',
                'Nova is at work on it: run this again later' if server.task_state else
                f'delete it, resize it to a flavor without one, or {remnants.ABANDON}')


def _in_rows(name: str, cell: sa.Connection, up: Collection[str],
             ) -> Iterator[remnants.Remnant]:
    past = len(records.past_servers(cell)) + len(
        [server for server in records.servers(cell) if not server.reserved])
    if past:
        yield remnants.Remnant(
            f'cell {name}', f'records of {past} servers that are deleted or have no '
            'reservation', remnants.CLEAN)
    nodes = records.unreported(cell, up)
    if nodes:
        yield remnants.Remnant(
            f'cell {name}', f'stats of {nodes} compute nodes', remnants.CLEAN)
    if history.begun(cell):
        yield remnants.Remnant(
            f'cell {name}', 'generated columns', 'nova-rt-manage db downgrade')
