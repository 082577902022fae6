# SPDX-License-Identifier: Apache-2.0
"""Nova's schema in a cell0 and further cells, in one process to save time.

``python -m nova_rt.tests.e2e.db.schema nova.conf CELL0_URL CELL_URL...``
"""

import sys

from nova_rt.cmd import manage_base

manage_base.read_nova_conf([sys.argv[1]])

from nova import context  # noqa: E402
from nova import objects  # noqa: E402
from nova.cmd import manage  # noqa: E402
from nova.db import migration  # noqa: E402

manage.ApiDbCommands().sync()
commands = manage.CellV2Commands()
commands.map_cell0(database_connection=sys.argv[2])
for number, url in enumerate(sys.argv[3:], start=1):
    # The transport is part of what tells one cell from another.
    commands.create_cell(name=f'cell{number}', database_connection=url,
                         transport_url=f'fake://cell{number}/')
admin = context.get_admin_context()
for cell in objects.CellMappingList.get_all(admin):
    with context.target_cell(admin, cell) as targeted:
        migration.db_sync(context=targeted)
