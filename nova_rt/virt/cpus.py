# SPDX-License-Identifier: Apache-2.0
"""Lists of CPUs as the kernel writes them, in sysfs and in control files.

Nova's parser, nova.virt.hardware.parse_cpu_spec(), reads what an operator writes;
this one serves dialects, which work where there is no Nova.
"""

import pathlib

_SYSFS = pathlib.Path('/sys/devices/system/cpu')


def parse(text: str) -> frozenset[int]:
    """Return the CPUs in a list such as ``0-3,8``.

    :raises ValueError: if it is not one
    """
    cpus: set[int] = set()
    for part in text.strip().split(','):
        first, dash, last = part.strip().partition('-')
        start, end = int(first), int(last if dash else first)
        if end < start or start < 0:
            raise ValueError(f'{part} is not a range')
        cpus.update(range(start, end + 1))
    return frozenset(cpus)


def present() -> frozenset[int]:
    """Return the CPUs that this machine has."""
    return parse((_SYSFS / 'present').read_text())


def online() -> frozenset[int]:
    """Return those that run."""
    return parse((_SYSFS / 'online').read_text())
