# SPDX-License-Identifier: Apache-2.0
"""How nova-rt-plan shows answers and progress."""

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
import csv
import json
import shlex
import sys
from typing import TypeVar

from nova_rt import reservation
from nova_rt import wording

Value = str | int | float | None
FlatRow = dict[str, Value]
# A row may have lists of rows, which a table shows below it.
Row = dict[str, Value | list[FlatRow]]
_T = TypeVar('_T')


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``-f json|csv|table``."""
    parser.add_argument(
        '-f', '--format', choices=('json', 'csv', 'table'), default='table',
        help='how to print the answer (default: table)')


def show(rows: Sequence[Row], style: str) -> None:
    """Print rows; in a table or CSV, each has the columns of all of them.

    :param style: json, csv or table; CSV omits lists of rows inside a row
    """
    if style == 'json':
        print(json.dumps(rows, ensure_ascii=False, indent=2))
    elif style == 'csv':
        flat = _flatten(rows)
        writer = csv.DictWriter(sys.stdout, list(flat[0]))
        writer.writeheader()
        writer.writerows(flat)
    else:
        _show_table(rows)


def _show_table(rows: Sequence[Row]) -> None:
    flat = _flatten(rows)
    if len(flat) == 1:
        _align(list(flat[0].items()))
    else:
        _align([list(flat[0]), *(list(row.values()) for row in flat)])
    for row in rows:
        for name, value in row.items():
            if isinstance(value, list) and value:
                print(f'\n{name}:')
                _align([list(value[0]), *(
                    [_cell(cell) for cell in part.values()]
                    for part in value)])


def _flatten(rows: Sequence[Row]) -> list[dict[str, str]]:
    names = dict.fromkeys(
        name for row in rows for name, value in row.items()
        if not isinstance(value, list))
    return [{name: _cell(row.get(name)) for name in names} for row in rows]


def _cell(value: object) -> str:
    if value is None:
        return '-'
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    return (wording.rounded(value) if isinstance(value, float)
            else str(value))


def _align(lines: Sequence[Sequence[str]]) -> None:
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
