# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage why: what keeps a server from each host?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from cliff import lister

from nova_rt.cmd import manage_base

_COLUMNS = ('host', 'what', 'needed', 'left', 'missing', 'why')


class Why(lister.Lister):
    """Tell what each host lacks for a server, in the sum and on its pCPUs.

    The first row is the fault that Nova has noted, if any. The others tell how
    it is now: by Placement, which may refuse before any filter is asked, and by
    what the hosts last told of their pCPUs. Run it where nova-api or
    nova-conductor runs: it reads the databases of all cells.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the server."""
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='SERVER',
                            type=manage_base.uuid_of_server,
                            help='the id of a server')
        return parser

    def take_action(self, parsed_args: argparse.Namespace):
        """Return a row for each thing that a host lacks."""
        return _COLUMNS, list(_rows(parsed_args.server))


def _rows(server: str) -> Iterator[tuple[str, ...]]:
    # Late: "--help" should not wait for Nova.
    from keystoneauth1 import exceptions as ks_exc
    from nova import context
    from nova import exception

    from nova_rt import reservation
    from nova_rt import shortfalls
    from nova_rt.db import problems
    from nova_rt.explain import collect

    admin = context.get_admin_context()
    try:
        request = collect.request_of(admin, server)
        if request.fault:
            yield '', 'fault', '', '', '', request.fault
        for each in shortfalls.explain(collect.hosts(admin), request.wanted,
                                       request.needs):
            yield (each.host, each.what, each.needed, each.left, each.missing,
                   each.sentence)
    except exception.NotFound:
        raise manage_base.CommandError(manage_base.unknown(server)) from None
    except reservation.InvalidReservationError as refusal:
        raise manage_base.CommandError(str(refusal)) from None
    except problems.DATABASE_ERRORS as trouble:
        raise manage_base.CommandError(
            f'A database cannot be read: {problems.sentence(trouble)}.'
        ) from None
    except ks_exc.ClientException as trouble:
        raise manage_base.CommandError(
            f'Placement cannot be asked: {trouble}') from None
