# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage why: what keeps a server from each host?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import dataclasses

from cliff import lister

from nova_rt.cmd import manage_base

_COLUMNS = ('host', 'what', 'needed', 'left', 'missing', 'why')


class Why(manage_base.Explained, lister.Lister):
    """Show what each host is short of for a server, in the sum and by pCPU.

    The first row is the fault that Nova has recorded, if any. The others show
    how it is now: in Placement, which may refuse before any filter is asked, and
    in what the hosts last reported of their pCPUs. Run it where nova-api or
    nova-conductor runs: it reads the databases of all cells.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the server."""
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='SERVER',
                            type=manage_base.uuid_of_server,
                            help='the id of a server')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> manage_base.Rows:
        """Return a row for each shortfall."""
        return _COLUMNS, list(_rows(parsed_args.server))


def _rows(server: str) -> Iterator[tuple[str, ...]]:
    # Late: "--help" should not wait for Nova.
    from nova import context

    from nova_rt import shortfalls
    from nova_rt import wording
    from nova_rt.explain import collect
    from nova_rt.explain import pieces

    admin = context.get_admin_context()
    question = collect.of_server(admin, server)
    if question.request.fault:
        yield '', 'fault', '', '', '', question.request.fault
    hosts, silent = question.everywhere(admin)
    if silent:
        yield '', 'cell', '', '', '', wording.silent(silent)
    for shortfall in shortfalls.explain(
            hosts, question.request, pieces.moves_that_help(admin, hosts, question)):
        yield dataclasses.astuple(shortfall)
