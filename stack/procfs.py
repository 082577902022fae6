# SPDX-License-Identifier: Apache-2.0
"""The few facts about processes that the launcher reads from /proc."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Stat:
    """One process as /proc/PID/stat shows it (proc(5))."""

    pid: int
    state: str
    session: int
    start: int  # clock ticks since boot: tells a reused pid from the first


def stat(pid: int) -> Stat | None:
    """Return the process, or None if there is none or only its zombie.

    A zombie whose other threads still end keeps its files and ports.
    """
    try:
        text = Path(f'/proc/{pid}/stat').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command, in parentheses, may hold anything, spaces included.
    fields = text.rpartition(')')[2].split()
    state, threads = fields[0], int(fields[17])
    if state == 'X' or (state == 'Z' and threads <= 1):
        return None
    return Stat(pid, state, int(fields[3]), int(fields[19]))


def all_processes() -> Iterator[Stat]:
    """Yield every live process of the machine."""
    for entry in Path('/proc').iterdir():
        if entry.name.isdigit():
            found = stat(int(entry.name))
            if found is not None:
                yield found


def environment(pid: int) -> dict[bytes, bytes]:
    """Return the environment the process was started with, {} if hidden."""
    try:
        raw = Path(f'/proc/{pid}/environ').read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return {}
    pairs = (item.partition(b'=') for item in raw.split(b'\0'))
    return {key: value for key, _, value in pairs if key}


def command(pid: int) -> list[str]:
    """Return the command line, [] if the process is gone."""
    try:
        raw = Path(f'/proc/{pid}/cmdline').read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [part.decode(errors='replace') for part in raw.split(b'\0')[:-1]]


def pss_kib(pid: int) -> int:
    """Return the proportional set size in KiB, 0 if the process is gone."""
    try:
        text = Path(f'/proc/{pid}/smaps_rollup').read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    for line in text.splitlines():
        if line.startswith('Pss:'):
            return int(line.split()[1])
    return 0
