# SPDX-License-Identifier: Apache-2.0
"""Criticality of instances

Revision ID: 8f3d52c6b1a9
Revises: c1f0a87d52e3
"""

import sqlalchemy as sa

from nova_rt.db import generated

revision = '8f3d52c6b1a9'
down_revision = 'c1f0a87d52e3'
branch_labels = None
depends_on = None

COLUMNS = (
    generated.Column('instance_extra', 'rt_criticality', 'flavor',
                     (*generated.EXTRA_SPECS, 'hw:cpu.rt_criticality'), generated.LETTER),
)


def applied(connection: sa.Connection) -> bool:
    """Return whether a database has all of it."""
    return generated.applied(connection, COLUMNS)


def begun(connection: sa.Connection) -> bool:
    """Return whether a database has any of it."""
    return generated.begun(connection, COLUMNS)


def upgrade() -> None:
    """Add what is not there."""
    generated.add(COLUMNS)


def downgrade() -> None:
    """Drop what is there."""
    generated.drop(COLUMNS)
