# SPDX-License-Identifier: Apache-2.0
"""openstack rt defrag: which moves make room, on a host or between hosts, and making them."""

from __future__ import annotations

import argparse

from osc_lib import exceptions
from osc_lib.command import command

from nova_rt import wording
from nova_rt.osc import between
from nova_rt.osc import client
from nova_rt.osc import columns
from nova_rt.osc import new_server
from nova_rt.sdk.answers import Json

_MOVED = ('server', 'name', 'source', 'target', 'bandwidth')


class Plan(command.ShowOne):
    """Plan moves between the pCPUs of a host that make room, and make none of them.

    With a flavor, the fewest that let one of its servers in; without, those that leave the
    fullest pCPU the most. With --between-hosts, also live migrations of virtual machines, the
    cheapest. For programs (-f json, yaml or csv), bandwidths are in CPUs.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the host, and what room is to be made for."""
        parser = super().get_parser(prog_name)
        _add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], tuple[object, ...]]:
        """Return the moves in their order, and the pCPUs before and after."""
        api = client.of(self.app.client_manager)
        if parsed_args.between_hosts:
            return between.shown(between.planned(api, parsed_args))
        plan = _planned(api, parsed_args)
        wanted = plan['reservation'] or {}
        return ('host', 'bandwidth', 'vcpus', 'moves', 'proof', 'pcpus'), (
            parsed_args.host, columns.Share(wanted['bandwidth']) if wanted else None,
            wanted.get('vcpus'), columns.Moves(plan['moves']), plan['proof'],
            columns.Left(plan['pcpus']))


class Run(command.Lister):
    """Plan moves between the pCPUs of a host that make room, and make one after the other.

    Each is told when it is made. A move claims its new pCPU before it leaves the old one,
    all or nothing, so every server has what it had wherever this ends. When a move is
    refused, this stops with exit status 1. Run again, it plans anew from what is there.
    With --between-hosts it also has Nova migrate virtual machines live, one after the other.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the host, and what room is to be made for."""
        parser = super().get_parser(prog_name)
        _add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Make the moves, and return a row for each.

        :raises CommandError: if one is refused
        """
        api = client.of(self.app.client_manager)
        if parsed_args.between_hosts:
            return between.carried_out(api, between.planned(api, parsed_args), self._say)
        plan = _planned(api, parsed_args)
        self._say(f'{wording.counted(len(plan["moves"]), "move")}. {plan["proof"]}')
        for number, move in enumerate(plan['moves'], 1):
            self._make(api, parsed_args.host, plan, number)
            self._say(f'{number}. {columns.move_in_words(move)}')
        return _MOVED, [
            (move['server'], move['name'], move['source'], move['target'],
             columns.Share(move['bandwidth'])) for move in plan['moves']]

    def _make(self, api: client.Client, host: str, plan: Json, number: int) -> None:
        move = plan['moves'][number - 1]
        made = f'{number - 1} of {wording.counted(len(plan["moves"]), "move")} made'
        try:
            api.post(f'{between.path(host)}/moves',
                     {name: move[name] for name in ('server', 'source', 'target')})
        except client.UndecidedError as exc:
            raise exceptions.CommandError(
                f'{made}; {columns.move_in_words(move)} may have been made, too. {exc} '
                'Run this again to go on with a new plan.') from None
        except exceptions.CommandError as exc:
            raise exceptions.CommandError(
                f'{made}, then {columns.move_in_words(move)} was refused. {exc} '
                'Run this again to go on with a new plan.') from None
        except KeyboardInterrupt:
            self._say(f'{made}; {columns.move_in_words(move)} is made or not, never in part.')
            raise

    def _say(self, sentence: str) -> None:
        print(sentence, file=self.app.stderr, flush=True)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--host', metavar='HOST',
                        help='the name of the host that is to have the room; with '
                             '--between-hosts it may be left out for any')
    parser.add_argument('--between-hosts', action='store_true',
                        help='plan live migrations of virtual machines, too; this needs a '
                             'flavor')
    parser.add_argument('--flavor', metavar='FLAVOR',
                        help='the name or id of a flavor that is to get room; without it, the '
                             'host is balanced')
    new_server.add_hints(parser)
    parser.add_argument('--max-moves', metavar='N', type=int,
                        help='how many moves at most (default: 8), migrations among them')
    parser.add_argument('--max-migrations', metavar='N', type=int,
                        help='how many migrations at most, with --between-hosts (default: 4); '
                             '0 for moves only, on any host')
    parser.add_argument('--seconds', metavar='S', type=int,
                        help='how long to look for a cheaper plan, or fewer moves (default: 2)')


def _planned(api: client.Client, parsed_args: argparse.Namespace) -> Json:
    """Return the API's plan.

    :raises CommandError: if it has none
    """
    if not parsed_args.host:
        raise exceptions.CommandError(
            'Which host? Give --host, or --between-hosts and a --flavor for any.')
    if parsed_args.max_migrations is not None:
        raise exceptions.CommandError('--max-migrations is for --between-hosts.')
    body: Json = {}
    if parsed_args.flavor:
        body = new_server.asked_for(parsed_args)
    elif parsed_args.hint:
        raise exceptions.CommandError('--hint is for a --flavor: without one, the host is '
                                      'balanced as it is.')
    given = {'max_moves': parsed_args.max_moves, 'seconds': parsed_args.seconds}
    return api.post(f'{between.path(parsed_args.host)}/plan', {
        **body, **{name: value for name, value in given.items() if value is not None}})
