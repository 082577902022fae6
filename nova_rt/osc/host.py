# SPDX-License-Identifier: Apache-2.0
"""openstack rt host: what hosts offer, and who holds it."""

from __future__ import annotations

import argparse
from urllib import parse

from osc_lib.cli import format_columns
from osc_lib.command import command

from nova_rt.osc import client
from nova_rt.osc import columns
from nova_rt.sdk.answers import Json

_COLUMNS = ('host', 'kind', 'dialect', 'pcpus', 'cap', 'share', 'used', 'most_left',
            'trouble')


class List(command.Lister):
    """List hosts with what they offer, and how much of it is reserved.

    For programs (-f json, yaml or csv), shares are in CPUs.
    """

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return a row for each host, by name."""
        hosts = client.of(self.app.client_manager).pages('/hosts', 'hosts')
        return _COLUMNS, sorted((_row(host) for host in hosts), key=lambda row: str(row[0]))


class Show(command.ShowOne):
    """Show a host: its pCPUs as bars, with who holds how much of each.

    For programs (-f json, yaml or csv), shares are in CPUs.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the host."""
        parser = super().get_parser(prog_name)
        parser.add_argument('host', metavar='HOST', help='the name of a host')
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], tuple[object, ...]]:
        """Return what there is to tell of it."""
        host: Json = client.of(self.app.client_manager).get(
            f'/hosts/{parse.quote(parsed_args.host, safe="")}')
        told = dict(zip(_COLUMNS, _row(host), strict=True))
        told['placement_policy'] = host['placement_policy']
        told['criticalities'] = format_columns.ListColumn(host.get('criticalities', ()))
        told['pcpus'] = columns.Bars(host)
        return tuple(told), tuple(told.values())


def _row(host: Json) -> tuple[object, ...]:
    return (host['host'], host['kind'], host['dialect'], host['pcpus_offered'],
            columns.Share(host['cap']), columns.Share(host['share']),
            columns.Share(host['share_used']), columns.Share(host['most_left']),
            host['trouble'])
