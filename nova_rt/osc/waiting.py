# SPDX-License-Identifier: Apache-2.0
"""openstack rt waiting: new servers that wait for room."""

from __future__ import annotations

import argparse

from osc_lib.command import command

from nova_rt.osc import client

_COLUMNS = ('place', 'id', 'name', 'project_id', 'criticality', 'since', 'until', 'why')


class List(command.Lister):
    """List the new servers that wait for room, in the order in which they are placed."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add what restricts the list."""
        parser = super().get_parser(prog_name)
        parser.add_argument('--project-id', metavar='ID',
                            help='only servers of this project')
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return a row for each server."""
        answer = client.of(self.app.client_manager).get(
            '/waiting', project_id=parsed_args.project_id)
        return _COLUMNS, [
            (each['place'], each['server'], each['name'], each['project_id'],
             each['criticality'], each['since'], each['until'], each['reason'])
            for each in answer['waiting']]
