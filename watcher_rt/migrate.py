# SPDX-License-Identifier: Apache-2.0
"""The action that migrates a server live: Watcher's own, but for when it does not begin."""

from __future__ import annotations

from typing import Any

from watcher.applier.actions import migration

from watcher_rt import api
from watcher_rt import order

NAME = 'nova_rt_migrate'


# Watcher tells by the name of the class that it can be aborted.
class Migrate(migration.Migrate):
    """Watcher's ``migrate``, skipped unless the step before was made; it says why it failed."""

    @property
    def schema(self) -> dict[str, Any]:
        """What a migration has to say."""
        schema: dict[str, Any] = super().schema
        return {**schema, 'properties': {
            **schema['properties'], 'step': {'type': 'integer'}, **order.PROPERTY}}

    def pre_condition(self) -> None:
        """See that the step before was made, then what Watcher sees to.

        :raises ActionSkipped: if it was not
        """
        order.check(self.input_parameters)
        super().pre_condition()

    def execute(self) -> bool:
        """Migrate the server and wait until that is over.

        :raises RefusedError: if it was not migrated; with Nova's reason, if it has one
        """
        if super().execute() is True:
            return True
        with api.asking():
            progress = api.Client().rt.get_migration(self.instance_uuid)
        raise api.RefusedError(
            progress.reason or f'Server {self.instance_uuid} is on {progress.host}, and its '
            f'migration is {progress.status or "not to be found"}.')
