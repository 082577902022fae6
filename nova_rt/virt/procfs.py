# SPDX-License-Identifier: Apache-2.0
"""What procfs tells of processes, whose names are anybody's choice.

The kernel tells a name as it is (``comm`` in proc(5)): it may have parentheses and blanks,
and bytes that are no UTF-8.
"""

import pathlib

PROC = pathlib.Path('/proc')


def text(process: pathlib.Path, name: str) -> str:
    """Return a file of a process or thread, with each line feed where the kernel has it.

    :param process: its folder
    :raises OSError: if it has ended
    """
    return (process / name).read_bytes().decode(errors='surrogateescape')


def state_and_parent(process: pathlib.Path) -> tuple[str, int]:
    """Return the letter of its state, ``R`` if it runs or waits to, and its parent.

    :raises OSError: if it has ended
    """
    state, parent = text(process, 'stat').rpartition(')')[2].split()[:2]
    return state, int(parent)
