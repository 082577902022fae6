# SPDX-License-Identifier: Apache-2.0
"""The proxy: a method for each thing that the API does.

::

    cloud = openstack.connect()
    cloud.add_service(proxy.SERVICE)
    for host in cloud.rt.hosts():
        print(host.name, host.share_used / host.share)
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from urllib import parse

from openstack import exceptions
from openstack import proxy
from openstack import service_description

from nova_rt.sdk import answers
from nova_rt.sdk import resources
from nova_rt.sdk.answers import Json

MICROVERSION = '1.10'
"""Which version of the API is asked for, unless the cloud's configuration names one."""


class IncompleteError(exceptions.SDKException):
    """The database of a cell did not answer, so a list would not be complete."""


class Proxy(proxy.Proxy):
    """nova-rt's API in version 1.

    What the API refuses is raised as openstacksdk's HttpException, or the subclass for its
    status, with the API's sentence.
    """

    def hosts(self) -> Iterator[resources.Host]:
        """Yield all hosts, page by page.

        :raises IncompleteError: if a cell does not answer
        """
        for entry in self._pages('/hosts', 'hosts'):
            yield resources.Host.existing(**entry)

    def get_host(self, name: str) -> resources.Host:
        """Return a host, pCPU by pCPU, and who holds what on it."""
        return resources.Host.existing(**self._ask('GET', _host(name)))

    def servers(self, project_id: str | None = None,
                host: str | None = None) -> Iterator[resources.Server]:
        """Yield the servers that hold a reservation, page by page.

        :raises IncompleteError: if a cell does not answer
        """
        for entry in self._pages('/servers', 'servers', project_id=project_id, host=host):
            yield resources.Server.existing(**entry)

    def get_server(self, server: str) -> resources.Server:
        """Return a server, by its uuid."""
        return resources.Server.existing(**self._ask('GET', f'/servers/{_quoted(server)}'))

    def usage(self, server: str) -> Iterator[resources.Usage]:
        """Yield what the kernel has given to a server, pCPU by pCPU; nothing unless it runs.

        :param server: its uuid
        """
        for entry in self._ask('GET', f'/servers/{_quoted(server)}/usage')['pcpus']:
            yield resources.Usage.existing(**entry)

    def set_reservation(self, server: str, runtime_us: int | None = None,
                        period_us: int | None = None) -> resources.Server:
        """Change the runtime or period of a server while it runs, all or nothing.

        :param server: its uuid
        """
        return resources.Server.existing(**self._ask(
            'PATCH', f'/servers/{_quoted(server)}/reservation',
            json=_given(runtime_us=runtime_us, period_us=period_us)))

    def waiting(self, project_id: str | None = None) -> Iterator[resources.Waiting]:
        """Yield the new servers that wait for room, in the order of their turns."""
        answer = self._ask('GET', '/waiting', params=_given(project_id=project_id))
        for entry in answer['waiting']:
            yield resources.Waiting.existing(**entry)

    def projects(self, project_id: str | None = None) -> Iterator[resources.Project]:
        """Yield what projects hold.

        :raises IncompleteError: if a cell does not answer
        """
        answer = self._ask('GET', '/projects', params=_given(project_id=project_id))
        _check_complete(answer)
        for entry in answer['projects']:
            yield resources.Project.existing(**entry)

    def why(self, server: str) -> Json:
        """Return what keeps a server from each host, as the API tells it.

        :param server: its uuid
        """
        return self._ask('POST', '/why', json={'server': server})

    def why_not(self, flavor: str, hints: Mapping[str, object] | None = None) -> Json:
        """Return what would keep a new server from each host.

        :param flavor: its name or id
        """
        return self._ask('POST', '/why', json={'flavor': flavor, 'hints': dict(hints or {})})

    def capacity(self, flavor: str, hints: Mapping[str, object] | None = None) -> Json:
        """Return how many more servers of a flavor fit.

        :param flavor: its name or id
        """
        return self._ask(
            'POST', '/capacity', json={'flavor': flavor, 'hints': dict(hints or {})})

    def plan_moves(self, host: str, flavor: str | None = None,
                   hints: Mapping[str, object] | None = None, max_moves: int | None = None,
                   seconds: int | None = None) -> resources.Plan:
        """Return moves between the pCPUs of a host that let a flavor in, or balance it.

        :param flavor: its name or id; None to balance the host
        """
        return resources.Plan.existing(**self._ask('POST', f'{_host(host)}/plan', json=_given(
            flavor=flavor, hints=hints and dict(hints), max_moves=max_moves, seconds=seconds)))

    def move_vcpu(self, host: str, server: str, source: int, target: int) -> resources.Host:
        """Move a vCPU from one pCPU of a host to another, all or nothing; return the host.

        :param server: its uuid
        """
        return resources.Host.existing(**self._ask('POST', f'{_host(host)}/moves', json={
            'server': server, 'source': source, 'target': target}))

    def plan_between_hosts(self, flavor: str, hints: Mapping[str, object] | None = None,
                           host: str | None = None, max_moves: int | None = None,
                           max_migrations: int | None = None,
                           seconds: int | None = None) -> resources.PlanBetweenHosts:
        """Return moves and live migrations after which a flavor fits a host.

        :param flavor: its name or id
        :param host: where the room is to be; None for any host
        """
        return resources.PlanBetweenHosts.existing(**self._ask('POST', '/plan', json=_given(
            flavor=flavor, hints=hints and dict(hints), host=host, max_moves=max_moves,
            max_migrations=max_migrations, seconds=seconds)))

    def migrate_server(self, server: str, source: str, target: str) -> resources.Progress:
        """Have Nova begin to migrate a server live, and return how that goes.

        :param server: its uuid
        :param source: the host that it is on
        :param target: the host that it is to go to
        """
        return resources.Progress.existing(**self._ask(
            'POST', f'/servers/{_quoted(server)}/migration',
            json={'source': source, 'target': target}))

    def get_migration(self, server: str) -> resources.Progress:
        """Return how a server's newest live migration goes.

        :param server: its uuid
        """
        return resources.Progress.existing(**self._ask(
            'GET', f'/servers/{_quoted(server)}/migration'))

    def _pages(self, path: str, what: str, **query: object) -> Iterator[Json]:
        def get(marker: str | None) -> Json:
            page = self._ask('GET', path, params=_given(marker=marker, **query))
            _check_complete(page)
            return page
        return answers.pages(get, what)

    def _ask(self, method: str, path: str, **kwargs: Any) -> Json:
        answer = self.request(
            path, method, microversion=self.default_microversion or MICROVERSION, **kwargs)
        exceptions.raise_from_response(answer, answers.sentence(answer))
        return dict(answer.json())


SERVICE: service_description.ServiceDescription[Proxy] = (
    service_description.ServiceDescription('rt', {'1': Proxy}))
"""What ``Connection.add_service()`` takes."""


def _host(name: str) -> str:
    return f'/hosts/{_quoted(name)}'


def _quoted(name: str) -> str:
    return parse.quote(name, safe='')


def _given(**values: object) -> Json:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _check_complete(page: Json) -> None:
    """Raise IncompleteError if a cell did not answer."""
    lacks = answers.incompleteness(page)
    if lacks:
        raise IncompleteError(lacks)
