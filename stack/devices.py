# SPDX-License-Identifier: Apache-2.0
"""The network devices that Open vSwitch leaves behind."""

import json
from pathlib import Path
import subprocess

# Of every datapath in user space.
DATAPATH = 'ovs-netdev'
# Neutron's and Nova's begin so.
PORT = 'tap'
QUERY = json.dumps(['Open_vSwitch', {
    'op': 'select', 'table': 'Interface', 'where': [],
    'columns': ['name', 'type']}])


def remove(database: Path) -> list[str]:
    """Remove the devices that a database of Open vSwitch names.

    Its devices outlive it, so that they keep their addresses when it is
    started again.

    :param database: the file; nothing is done if it does not exist.
    :returns: what could not be removed, one sentence per device.
    """
    if not database.exists():
        return []
    names = {DATAPATH} | _named(database)
    for name in names:
        subprocess.run(('ip', 'link', 'delete', name), capture_output=True)
    return [f'The network device {name} could not be removed.'
            for name in sorted(names) if Path('/sys/class/net', name).exists()]


def _named(database: Path) -> set[str]:
    """Return the devices that Open vSwitch made, or that were made for it."""
    answer = json.loads(subprocess.run(
        ('ovsdb-tool', 'query', str(database), QUERY), check=True,
        capture_output=True, text=True).stdout)
    return {row['name'] for row in answer[0]['rows']
            if row['type'] == 'internal' or row['name'].startswith(PORT)}
