# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage audit: do kernel, ledger, Nova and Placement agree?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cliff import lister

from nova_rt.cmd import manage_base

if TYPE_CHECKING:
    from nova_rt.audit import auditor

_COLUMNS = ('kind', 'subject', 'sentence', 'repair')


class Audit(manage_base.Explained, lister.Lister):
    """Compare what kernel, ledger, Nova and Placement say of this compute host.

    Run it on the compute host, as root, with the configuration of
    nova-rt-compute. It asks Nova as that does, by the conductor. Each row is
    something that differs, and still did after a pause: the exit status is 1
    if any is left, 0 otherwise. With --heal, what can be is repaired in favour
    of the servers' owners: a running server never loses bandwidth.
    """

    _left = 0

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add --heal and --pause."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--heal', action='store_true', help='repair what can be repaired')
        parser.add_argument(
            '--pause', type=_seconds, default=2, metavar='SECONDS',
            help='look again after this, and report only what stayed (default: '
                 '%(default)s)')
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Return 1 if something differs and is not repaired."""
        return super().run(parsed_args) or int(bool(self._left))

    def take_action(self, parsed_args: argparse.Namespace) -> manage_base.Rows:
        """Return a row for each drift."""
        return _COLUMNS, list(self._rows(parsed_args))

    def _rows(self, parsed_args: argparse.Namespace,
              ) -> Iterator[tuple[str, str, str, str]]:
        host = _auditor()
        for drift in host.look_twice(parsed_args.pause):
            repair = f'--heal {drift.remedy}' if drift.remedy else ''
            failed = True
            if parsed_args.heal and drift.remedy:
                reason = host.heal(drift)
                failed = bool(reason)
                repair = f'failed: {reason}' if failed else 'done'
            self._left += failed
            yield drift.kind.value, drift.subject, drift.sentence, repair


def _seconds(text: str) -> float:
    """Return a time from 0 to 600 seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= 600:
        raise argparse.ArgumentTypeError('give seconds from 0 to 600')
    return seconds


def _auditor() -> auditor.Auditor:
    """Return the auditor of this machine."""
    from nova import context
    from nova import objects
    from nova.conductor import rpcapi
    import nova.conf
    from nova.objects import base

    from nova_rt.audit import auditor
    from nova_rt.virt import containers
    from nova_rt.virt import this_host

    conf = nova.conf.CONF
    base.NovaObject.indirection_api = rpcapi.ConductorAPI()
    admin = context.get_admin_context()
    reservations = this_host.from_options(conf)
    (node,) = objects.ComputeNodeList.get_all_by_host(admin, conf.host)
    return auditor.Auditor(admin, node, reservations,
                           lambda: containers.running(conf))
