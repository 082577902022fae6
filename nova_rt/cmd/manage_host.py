# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage host: whether this machine can hold reservations."""

import argparse
import dataclasses

from cliff import lister
import nova.conf

from nova_rt.cmd import manage_base
from nova_rt.virt import this_host
from nova_rt.virt.cgroup.doctor import finding


class Probe(manage_base.Explained, lister.Lister):
    """Tell how this machine's kernel takes reservations, and what is wrong.

    Run it on a compute host, as root. The first row names the dialect. The
    verdict is ok, warning where there is less room than there could be, or
    wrong where reservations cannot be held; then the exit status is 1. Budgets
    of containers are not touched.
    """

    wrong = False

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Return 1 if something is wrong."""
        return super().run(parsed_args) or int(self.wrong)

    def take_action(self, parsed_args: argparse.Namespace) -> manage_base.Rows:
        """Return a row for each thing that was looked at."""
        findings = this_host.examine(nova.conf.CONF)
        self.wrong = any(
            found.verdict == finding.WRONG for found in findings)
        columns = tuple(
            field.name for field in dataclasses.fields(finding.Finding))
        return columns, [dataclasses.astuple(found) for found in findings]
