# SPDX-License-Identifier: Apache-2.0
"""``python3 - GROUP``: load what nova-rt registers in a group, in a container."""

from importlib import import_module
from importlib import metadata
import sys


def main() -> None:
    """Load each, and print its name; fail if there is none."""
    group = sys.argv[1]
    ours = [each for each in metadata.distribution('nova-rt').entry_points
            if each.group == group]
    if not ours:
        sys.exit(f'nova-rt registers nothing in {group}.')
    if group.startswith('paste.'):
        # As nova-api does before it reads its pipelines; others must not do it first.
        objects = import_module('nova.objects')
        objects.register_all()
    for each in ours:
        each.load()
        print(group, each.name)


if __name__ == '__main__':
    main()
