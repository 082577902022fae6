# SPDX-License-Identifier: Apache-2.0
"""How nova-rt-plan shows answers and progress."""

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import csv
import json
import shlex
import sys
from typing import Any
from typing import TypeVar

from nova_rt import reservation

Row = Mapping[str, Any]
_T = TypeVar('_T')


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``-f json|csv|table``."""
    parser.add_argument(
        '-f', '--format', choices=('json', 'csv', 'table'), default='table',
        help='how to print the answer (default: %(default)s)')


def show(rows: Sequence[Row], style: str) -> None:
    """Print rows; in a table or CSV, each has the columns of all of them.

    Lists of rows inside a row are not for CSV.
    """
    if style == 'json':
        print(json.dumps(list(rows), ensure_ascii=False, indent=2))
        return
    names = dict.fromkeys(
        name for row in rows for name, value in row.items()
        if not isinstance(value, list))
    flat = [{name: _cell(row.get(name)) for name in names} for row in rows]
    if style == 'csv':
        writer = csv.DictWriter(sys.stdout, list(flat[0]))
        writer.writeheader()
        writer.writerows(flat)
    elif len(flat) == 1:
        _columns([(name, text) for name, text in flat[0].items()])
    else:
        _columns([tuple(flat[0]), *(tuple(row.values()) for row in flat)])
    if style == 'table':
        for row in rows:
            for name, value in row.items():
                if isinstance(value, list) and value:
                    print(f'\n{name}:')
                    _columns([tuple(value[0]), *(
                        tuple(map(_cell, each.values())) for each in value)])


def _cell(value: Any) -> str:
    if value is None:
        return '-'
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    return f'{value:.6g}' if isinstance(value, float) else str(value)


def _columns(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [text.ljust(width)
                 for text, width in zip(line, widths, strict=True)]
        print('  '.join(cells).rstrip())


def flavor_command(name: str, wanted: reservation.Reservation,
                   ram_mb: int = 512, disk_gb: int = 1) -> str:
    """Return the command that creates a flavor with a reservation."""
    specs = {reservation.RUNTIME: wanted.runtime_us,
             reservation.PERIOD: wanted.period_us}
    properties = ' '.join(
        f'--property {reservation.EXTRA_SPEC_PREFIX}{key}={value}'
        for key, value in specs.items())
    return (f'openstack flavor create {shlex.quote(name)} '
            f'--vcpus {wanted.vcpus} --ram {ram_mb} --disk {disk_gb} '
            f'{properties}')


def track(items: Sequence[_T], label: str) -> Iterable[_T]:
    """Return the items, with a progress bar if a person is watching."""
    if not sys.stderr.isatty():
        return items
    try:
        from rich import console
        from rich import progress
    except ImportError:
        return items
    tracked: Iterable[_T] = progress.track(
        items, description=label, console=console.Console(stderr=True),
        transient=True)
    return tracked
