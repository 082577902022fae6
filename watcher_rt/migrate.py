# SPDX-License-Identifier: Apache-2.0
"""The action that migrates a server live, by nova-rt's API."""

from __future__ import annotations

import time
from typing import Any

from watcher.applier.actions import migration
from watcher.common import exception

from watcher_rt import api
from watcher_rt import order

NAME = 'nova_rt_migrate'

INTERVAL_S = 2
"""How long it waits until it looks again how the migration goes."""

LOOKS = 30
"""How many looks one after the other may fail: an API may be started anew meanwhile."""


class Migrate(migration.Migrate):
    """Watcher's ``migrate``, but by nova-rt's API, and only if the step before was made.

    Watcher's own would migrate a server that is locked, be content before the source has
    given back what the server held, and not say why a migration failed.
    """

    @property
    def schema(self) -> dict[str, Any]:
        """What a migration has to say."""
        schema: dict[str, Any] = super().schema
        return {**schema, 'properties': {
            **schema['properties'], 'step': {'type': 'integer'}, **order.PROPERTY}}

    def pre_condition(self) -> None:
        """See that the step before was made, then what Watcher sees to.

        :raises ActionSkipped: if it was not
        :raises RefusedError: if the server is not as planned
        """
        order.check(self.input_parameters)
        try:
            super().pre_condition()
        except exception.ActionSkipped as exc:
            # The plan would else count as carried out.
            raise api.RefusedError(f'{str(exc).rstrip(".")}.') from None

    def execute(self) -> bool:
        """Have Nova migrate the server, and wait until that is over.

        :raises RefusedError: if it was not migrated; with Nova's reason, if it has one
        :raises UndecidedError: if whether it was is not known
        """
        rt = api.Client().rt
        with api.asking():
            progress = rt.migrate_server(
                self.instance_uuid, self.source_node, self.destination_node)
        failed = 0
        while progress.under_way:
            time.sleep(INTERVAL_S)
            try:
                with api.asking():
                    progress, failed = rt.get_migration(self.instance_uuid), 0
            except api.UndecidedError as exc:
                failed += 1
                if failed > LOOKS:
                    raise api.UndecidedError(
                        f'The migration may be under way still, and ends by itself. {exc}'
                    ) from None
        if progress.host == self.destination_node:
            return True
        raise api.RefusedError(
            progress.reason or f'Server {self.instance_uuid} is on {progress.host}, and its '
            f'migration is {progress.status or "not to be found"}.')
