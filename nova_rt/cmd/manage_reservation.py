# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage reservation: another reservation for one server."""

from __future__ import annotations

import argparse

from cliff import show

from nova_rt import reservation
from nova_rt.cmd import manage_base

_COLUMNS = ('server', 'runtime_us', 'period_us', 'vcpus')


class Set(manage_base.Explained, show.ShowOne):
    """Give a server another runtime or period while it runs, by its hint.

    A flavor does not change what a hint says, and Nova has no operation that
    changes a hint. This changes both the hint that is stored and what the
    server has: kernel, ledger, Nova and Placement, or nothing. The server keeps
    its pCPUs and is not restarted. Without a runtime and a period, what was
    interrupted is finished. Run it where nova-api or nova-conductor runs.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the server and what it is to have."""
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='SERVER',
                            type=manage_base.uuid_of_server,
                            help='the id of a server')
        parser.add_argument('--runtime-us', metavar='MICROSECONDS',
                            help='how long each vCPU may run every period')
        parser.add_argument('--period-us', metavar='MICROSECONDS',
                            help='the period')
        return parser

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], tuple[object, ...]]:
        """Return what the server has now."""
        # Late: "--help" should not wait for Nova.
        from nova import context
        import nova.conf

        from nova_rt import bandwidth
        from nova_rt.instance import hint_update

        cap = bandwidth.fraction_to_bandwidth(nova.conf.CONF.rt.cap)
        has = hint_update.change(
            context.get_admin_context(), parsed_args.server,
            _times(parsed_args), cap)
        return _COLUMNS, (parsed_args.server, has.runtime_us, has.period_us,
                          has.vcpus)


def _times(parsed_args: argparse.Namespace) -> reservation.Times:
    given = {reservation.RUNTIME: parsed_args.runtime_us,
             reservation.PERIOD: parsed_args.period_us}
    return reservation.times_from_hints({
        name: value for name, value in given.items() if value is not None})
