# SPDX-License-Identifier: Apache-2.0
"""Run by Alembic for every command, on the connection that it is given."""

from alembic import context

from nova_rt.db import history

context.configure(connection=context.config.attributes['connection'],
                  version_table=history.VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
