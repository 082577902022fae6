# SPDX-License-Identifier: Apache-2.0
"""The measurements as a table and as JSON."""

from collections.abc import Iterable
import dataclasses
import datetime
import importlib.metadata
import json
import os
from pathlib import Path
import platform
import re
import sqlite3
from typing import Any

from bench import measure

VERSIONS = ('nova-rt', 'nova', 'SQLAlchemy', 'oslo.versionedobjects',
            'oslo.messaging', 'openstack-placement', 'heat-translator',
            'tosca-parser')
HEADER = (f'{"what":48} {"median":>9} {"min":>9} {"max":>9}    '
          f'{"beside":>9} {"ratio":>7} {"(min":>7} {"max)":>6}  aims')


def line(measurement: measure.Measurement) -> str:
    """Return one row of the table."""
    ours = measurement.ours
    row = (f'{measurement.name:48} {ours.median:9.2f} {ours.min:9.2f} '
           f'{ours.max:9.2f} {measurement.unit}')
    if measurement.theirs:
        row += f' {measurement.theirs.median:9.2f}'
    if measurement.ratio:
        row += (f' {measurement.ratio.median:7.3f} '
                f'({measurement.ratio.min:6.3f} {measurement.ratio.max:6.3f})')
    for aim in measurement.aims:
        row += f'  {aim.text}: {"met" if aim.met else "MISSED"}'
    if measurement.beside:
        row += f'  [beside: {measurement.beside}]'
    return row


def write(path: Path, measurements: Iterable[measure.Measurement]) -> None:
    """Write the measurements, with a description of the machine."""
    path.write_text(json.dumps({
        'time': datetime.datetime.now(datetime.UTC).isoformat(
            timespec='seconds'),
        'machine': machine(),
        'versions': {name: importlib.metadata.version(name)
                     for name in VERSIONS},
        'measurements': [dataclasses.asdict(measurement) for measurement in measurements],
    }, indent=1, ensure_ascii=False) + '\n')


def machine() -> dict[str, Any]:
    """Return the properties of the machine that affect the times."""
    model = re.search(r'model name\s*: (.*)',
                      Path('/proc/cpuinfo').read_text())
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    return {
        'cpu': model[1] if model else platform.machine(),
        'cpus': os.cpu_count(),
        'memory_gib': round(memory / 2 ** 30, 1),
        'kernel': platform.release(),
        'python': platform.python_version(),
        'sqlite': sqlite3.sqlite_version,
        'load_average': os.getloadavg(),
    }
