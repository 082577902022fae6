# SPDX-License-Identifier: Apache-2.0
"""Criticality of instances

Revision ID: 8f3d52c6b1a9
Revises: c1f0a87d52e3
"""

from nova_rt.db import generated

revision = '8f3d52c6b1a9'
down_revision = 'c1f0a87d52e3'
branch_labels = None
depends_on = None

COLUMNS = (
    generated.Column('instance_extra', 'rt_criticality', 'flavor',
                     (*generated.EXTRA_SPECS, 'hw:cpu.rt_criticality'), generated.LETTER),
)
