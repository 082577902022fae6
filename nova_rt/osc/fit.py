# SPDX-License-Identifier: Apache-2.0
"""openstack rt why and rt capacity: what keeps a server from a host, and how many more fit."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Iterator

from osc_lib import exceptions
from osc_lib.command import command

from nova_rt import wording
from nova_rt.osc import client
from nova_rt.osc import identifiers
from nova_rt.osc import new_server
from nova_rt.sdk.answers import Json

_REASONS = ('host', 'what', 'needed', 'left', 'missing', 'why')


class Why(command.Lister):
    """Show what each host is short of now for a server, in the sum and by pCPU.

    Either for a server, whose fault is the first row, or for a flavor that one would
    like to boot.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the server, or flavor and hints."""
        parser = super().get_parser(prog_name)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument('server', metavar='SERVER', nargs='?',
                           help='the name or id of a server')
        which.add_argument('--flavor', metavar='FLAVOR',
                           help='the name or id of a flavor, instead of a server')
        new_server.add_hints(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return a row for each thing that is missing."""
        clients = self.app.client_manager
        if parsed_args.flavor:
            body = new_server.asked_for(parsed_args)
        elif parsed_args.hint:
            raise exceptions.CommandError(
                '--hint is for a --flavor: a server keeps the hints that it has.')
        else:
            body = {'server': identifiers.of_server(clients, parsed_args.server)}
        return _REASONS, list(_reasons(client.of(clients).post('/why', body)))


class Capacity(command.Lister):
    """Show how many more servers of a flavor fit each host, and all of them.

    The filter, the claim and Placement would decide so for one after the other.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add flavor and hints."""
        parser = super().get_parser(prog_name)
        parser.add_argument('--flavor', metavar='FLAVOR', required=True,
                            help='the name or id of a flavor')
        new_server.add_hints(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return a row for each host, one for all, and one for each quota below that."""
        answer: Json = client.of(self.app.client_manager).post(
            '/capacity', new_server.asked_for(parsed_args))
        return ('host', 'servers', 'limit'), [
            *((host['host'], host['servers'], host['limit']) for host in answer['hosts']),
            ('', answer['total'], _together(answer)),
            *(('', each['servers'], f'quota: {each["sentence"]}')
              for each in answer.get('quotas', ()) if each['servers'] < answer['total'])]


def _together(answer: Json) -> str:
    # Before version 1.10 the API did not tell.
    silent = answer.get('unreachable_cells')
    return 'All hosts together' + (
        f', without those of {", ".join(silent)}, whose database did not answer.'
        if silent else '.')


def _reasons(answer: Json) -> Iterator[tuple[str, ...]]:
    if answer['fault']:
        yield '', 'fault', '', '', '', answer['fault']
    waits = answer.get('waiting')
    if waits:
        yield ('', 'waiting', '', '', '',
               f'It waits for room since {waits["since"]}, until {waits["until"]}, and is number '
               f'{waits["place"]} of those who wait. {waits["reason"]}')
    if answer.get('unreachable_cells'):
        yield '', 'cell', '', '', '', wording.silent(answer['unreachable_cells'])
    # Before version 1.2 the API did not tell.
    yield from _rows('', answer.get('shortfalls', ()))
    for host in answer['hosts']:
        yield from _rows(host['host'], host['shortfalls'])
        if host['fits']:
            yield host['host'], '', '', '', '', 'The server fits now.'


def _rows(host: str, shortfalls: Iterable[Json]) -> Iterator[tuple[str, ...]]:
    for each in shortfalls:
        yield (host, each['what'], each['needed'], each['left'], each['missing'],
               each['sentence'])
