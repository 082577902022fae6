# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage uninstall: everything of nova-rt taken out of a cloud again."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
import itertools
from typing import TYPE_CHECKING

from cliff import lister
from oslo_config import cfg

from nova_rt.cmd import manage_base

if TYPE_CHECKING:
    from nova_rt.removal import cloud
    from nova_rt.removal import remnants

_COLUMNS = ('place', 'left', 'remove it by', 'whose')


class _Uninstall(manage_base.Explained, lister.Lister):
    """Prints what is left; the exit status is 1 if any of it is nova-rt's."""

    _failed = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add --host."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--host', action='store_true', help='this compute host only; run it there, as root')
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Return 1 while something of nova-rt is left."""
        return super().run(parsed_args) or int(self._failed)

    def take_action(self, parsed_args: argparse.Namespace) -> manage_base.Rows:
        """Return a row for each thing that is left."""
        # Late: "--help" should not wait for Nova.
        import nova.conf

        from nova_rt.removal import host
        from nova_rt.removal import machine

        conf = nova.conf.CONF
        if parsed_args.host:
            self.on_host(conf, parsed_args)
            left = host.left(conf)
        else:
            everything = _cloud()
            self.in_cloud(everything, parsed_args)
            left = everything.left()
        return _COLUMNS, list(self._rows(itertools.chain(left, machine.left(conf))))

    def on_host(self, conf: cfg.ConfigOpts, parsed_args: argparse.Namespace) -> None:
        """Do something on this host first."""

    def in_cloud(self, everything: cloud.Cloud, parsed_args: argparse.Namespace) -> None:
        """Do something in databases and Placement first."""

    def _rows(self, left: Iterable[remnants.Remnant]) -> Iterator[tuple[object, ...]]:
        for remnant in left:
            self._failed |= remnant.ours
            yield (remnant.place, remnant.left, remnant.remedy,
                   'nova-rt' if remnant.ours else 'operator')


class Check(_Uninstall):
    """Show what is left of nova-rt, and the command that removes it.

    Run it where nova-api is: it reads the databases of all cells, Placement, and
    this machine's configuration. With --host it reads a compute host only, libvirt
    and kernel included. What is the operator's, such as a flavor's extra specs, is
    shown and may stay. The exit status is 1 while anything of nova-rt's own is left.
    """


class Clean(_Uninstall):
    """Take out of databases and Placement what nothing needs any more.

    Run it where nova-api is. Servers with reservations, and hosts that run
    nova-rt-compute, are left as they are, and with them Placement. With --abandon,
    servers on other hosts run on without: what the kernel gives them it gives until
    they are restarted. With --host, the control groups of a compute host give back what
    no container needs. Nova may be running. Doing it again completes what was
    interrupted. What is left is shown as "uninstall check" does.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add --abandon."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--abandon', action='store_true',
            help='let servers that have a reservation run on without one')
        return parser

    def on_host(self, conf: cfg.ConfigOpts, parsed_args: argparse.Namespace) -> None:
        """See base class."""
        from nova_rt.removal import host

        host.clean(conf)

    def in_cloud(self, everything: cloud.Cloud, parsed_args: argparse.Namespace) -> None:
        """See base class."""
        everything.clean(parsed_args.abandon)


def _cloud() -> cloud.Cloud:
    """Return the deployment that nova.conf names."""
    # Late: "--help" should not wait for Nova.
    from nova import context

    from nova_rt.db import cells
    from nova_rt.removal import cloud
    from nova_rt.removal import placement

    admin = context.get_admin_context()
    return cloud.Cloud(admin, cells.api(), cells.every(), placement.Placement(admin))
