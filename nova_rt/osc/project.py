# SPDX-License-Identifier: Apache-2.0
"""openstack rt project: what projects hold."""

from __future__ import annotations

import argparse

from osc_lib.command import command

from nova_rt.osc import client
from nova_rt.osc import columns


class List(command.Lister):
    """List what the servers of each project hold together, the most first."""

    def take_action(self, parsed_args: argparse.Namespace,
                    ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return a row for each project."""
        projects = client.of(self.app.client_manager).pages('/projects', 'projects')
        return ('project_id', 'servers', 'vcpus', 'share'), [
            (project['project_id'], project['servers'], project['vcpus'],
             columns.Share(project['share'])) for project in projects]
