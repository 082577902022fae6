# SPDX-License-Identifier: Apache-2.0
"""Shares of compute nodes, runtime and period of instances

Revision ID: c1f0a87d52e3
"""

from nova_rt.db import generated

revision = 'c1f0a87d52e3'
down_revision = None
branch_labels = None
depends_on = None

COLUMNS = (
    generated.Column('compute_nodes', 'rt_share', 'stats', ('rt_share',), generated.SHARE),
    generated.Column('compute_nodes', 'rt_share_used', 'stats', ('rt_share_used',),
                     generated.SHARE),
    generated.Column('instance_extra', 'rt_runtime_us', 'flavor',
                     (*generated.EXTRA_SPECS, 'hw:cpu.rt_runtime_us'), generated.TIME),
    generated.Column('instance_extra', 'rt_period_us', 'flavor',
                     (*generated.EXTRA_SPECS, 'hw:cpu.rt_period_us'), generated.TIME),
)
