# SPDX-License-Identifier: Apache-2.0
"""openstack rt server: servers with their reservations."""

from __future__ import annotations

import argparse

from osc_lib.command import command

from nova_rt.osc import client
from nova_rt.osc import columns
from nova_rt.osc import identifiers
from nova_rt.sdk.answers import Json

_COLUMNS = ('id', 'name', 'project_id', 'status', 'kind', 'runtime_us', 'period_us',
            'vcpus', 'bandwidth', 'criticality', 'owed_us', 'pcpus', 'host')
_USAGE = ('pcpu', 'enforced', 'used_us', 'waited_us', 'throttled', 'overruns')


class List(command.Lister):
    """List the servers that hold a reservation, of all projects that you may see."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add what restricts the list."""
        parser = super().get_parser(prog_name)
        parser.add_argument('--host', metavar='HOST', help='only servers on this host')
        parser.add_argument('--project-id', metavar='ID',
                            help='only servers of this project')
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return a row for each server."""
        servers = client.of(self.app.client_manager).pages(
            '/servers', 'servers', host=parsed_args.host,
            project_id=parsed_args.project_id)
        return _COLUMNS, [_row(server) for server in servers]


class Show(command.ShowOne):
    """Show a server's reservation, also of one that found no room."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the server."""
        return _add_server(super().get_parser(prog_name))

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], tuple[object, ...]]:
        """Return what there is to tell of it."""
        clients = self.app.client_manager
        uuid = identifiers.of_server(clients, parsed_args.server)
        return _COLUMNS, _row(client.of(clients).get(f'/servers/{uuid}'))


class Usage(command.Lister):
    """Show what the kernel has given to a server on each pCPU since it started.

    What the kernel does not count is empty; of a server that does not run, nothing is shown.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the server."""
        return _add_server(super().get_parser(prog_name))

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return a row for each pCPU."""
        clients = self.app.client_manager
        uuid = identifiers.of_server(clients, parsed_args.server)
        answer = client.of(clients).get(f'/servers/{uuid}/usage')
        return _USAGE, [
            (each['pcpu'], columns.Share(each['enforced']),
             *(each[name] for name in _USAGE[2:])) for each in answer['pcpus']]


class Set(command.ShowOne):
    """Give a server another runtime or period while it runs, by its hint.

    It keeps its pCPUs and is not restarted. All or nothing is changed. Without a runtime and
    a period, what was interrupted is finished.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the server and what it is to have."""
        parser = _add_server(super().get_parser(prog_name))
        parser.add_argument('--runtime-us', metavar='MICROSECONDS', type=int,
                            help='how long each vCPU may run every period')
        parser.add_argument('--period-us', metavar='MICROSECONDS', type=int,
                            help='the period')
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], tuple[object, ...]]:
        """Return what the server has now."""
        clients = self.app.client_manager
        uuid = identifiers.of_server(clients, parsed_args.server)
        times = {'runtime_us': parsed_args.runtime_us, 'period_us': parsed_args.period_us}
        return _COLUMNS, _row(client.of(clients).patch(
            f'/servers/{uuid}/reservation',
            {name: value for name, value in times.items() if value is not None},
            since='1.1'))


def _add_server(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument('server', metavar='SERVER', help='the name or id of a server')
    return parser


def _row(server: Json) -> tuple[object, ...]:
    wanted = server['reservation'] or {}
    return (server['server'], server['name'], server['project_id'], server['status'],
            server['kind'], wanted.get('runtime_us'), wanted.get('period_us'),
            wanted.get('vcpus'),
            columns.Share(wanted['bandwidth']) if wanted else None, server.get('criticality'),
            server.get('owed_us'), columns.PCPUs(server['pcpus']), server.get('host'))
