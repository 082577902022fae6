# SPDX-License-Identifier: Apache-2.0
"""``python3 - GROUP``: load what nova-rt registers in a group, in a container."""

from importlib import metadata
import sys


def main() -> None:
    """Load each, and print its name; fail if there is none."""
    group = sys.argv[1]
    ours = [each for each in metadata.distribution('nova-rt').entry_points
            if each.group == group]
    if not ours:
        sys.exit(f'nova-rt registers nothing in {group}.')
    for each in ours:
        each.load()
        print(group, each.name)


if __name__ == '__main__':
    main()
