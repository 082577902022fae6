# SPDX-License-Identifier: Apache-2.0
"""Task sets and chains of services in YAML and CSV files."""

from collections.abc import Mapping
import csv
import pathlib
import re
from typing import Any

from nova_rt import wording
from nova_rt.model import checks
from nova_rt.model import queueing
from nova_rt.model import tasks as tasks_

_TIME = re.compile(r'(wcet|period|deadline)(?:_(us|ms|s))?')
_STAGE = ('name', 'arrival_rate', 'processing_us', 'delay_us',
          'network_mbps', 'request_bytes')
# YAML has no types: what a row holds is checked where it is used.
_Row = Mapping[str, Any]
# More than a thousand tasks need.
MAX_BYTES = 1_000_000


def read_tasks(path: str) -> list[tasks_.Task]:
    """Return the tasks in a file that ends in .csv, .yaml, .yml or .json.

    Each has a wcet, a period and, if it is not the period, a deadline; in
    µs, or as the name says: ``wcet_ms``, ``period_s``. A name is optional.
    YAML holds a list of such mappings, or one under ``tasks``.

    :raises checks.ModelError: if the file or a task cannot be used
    """
    tasks = [_task(row, f'task {number}')
             for number, row in enumerate(_rows(path, 'tasks'), 1)]
    tasks_.check(tasks)
    return tasks


def read_stages(path: str) -> list[tuple[str, queueing.Service]]:
    """Return the stages of a chain of services, with their names.

    Each has an arrival_rate (per s) and a mean processing_us, and may have
    a delay_us and, together, network_mbps and request_bytes.

    :raises checks.ModelError: if the file or a stage cannot be used
    """
    return [_stage(row, number)
            for number, row in enumerate(_rows(path, 'stages'), 1)]


def service(arrival_rate: float, processing_us: float, delay_us: float = 0,
            network_mbps: float | None = None,
            request_bytes: float | None = None) -> queueing.Service:
    """Return a service from numbers in the units that people use.

    :param arrival_rate: requests per s
    :param processing_us: mean processing time on a whole pCPU
    :param delay_us: one-way network delay
    :param network_mbps: network bandwidth; None if it does not matter
    :param request_bytes: mean request size; None if it does not matter
    :raises checks.ModelError: if these are invalid
    """
    if (network_mbps is None) != (request_bytes is None):
        raise checks.ModelError('The network bandwidth and the mean request '
                                'size only make sense together: give both.')
    transmits = None
    if network_mbps is not None and request_bytes is not None:
        transmits = queueing.transmission_rate(
            checks.positive('The network bandwidth', network_mbps) * 1e6,
            request_bytes)
    return queueing.Service(
        arrival_rate,
        1e6 / checks.positive('The processing time', processing_us),
        checks.not_negative('The network delay', delay_us) / 1e6, transmits)


def _rows(path: str, key: str) -> list[_Row]:
    suffix = pathlib.Path(path).suffix.lower()
    if suffix not in ('.csv', '.yaml', '.yml', '.json'):
        raise checks.ModelError(
            f'{path} ends in none of .csv, .yaml, .yml and .json.')
    text = _text(path)
    rows: Any = (_csv(text) if suffix == '.csv' else _yaml(path, text))
    if isinstance(rows, dict):
        rows = rows.get(key)
    if not isinstance(rows, list) or not rows:
        raise checks.ModelError(f'{path} holds no list of {key}.')
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not all(
                isinstance(name, str) for name in row):
            raise checks.ModelError(
                f'Entry {number} of {path} is {wording.shown(row)}: give '
                'names with values.')
    return rows


def _text(path: str) -> str:
    try:
        with open(path, 'rb') as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as exc:
        raise checks.ModelError(
            f'{path} cannot be read: {exc.strerror}.') from None
    if len(raw) > MAX_BYTES:
        raise checks.ModelError(f'{path} is larger than {MAX_BYTES} bytes.')
    try:
        return raw.decode('utf-8-sig')
    except UnicodeDecodeError:
        raise checks.ModelError(f'{path} is not UTF-8 text.') from None


def _csv(text: str) -> list[_Row]:
    try:
        rows = list(csv.DictReader(text.splitlines(), skipinitialspace=True))
    except csv.Error as exc:
        raise checks.ModelError(f'The CSV is broken: {exc}.') from None
    for number, row in enumerate(rows, 2):
        if None in row:
            raise checks.ModelError(
                f'Line {number} of the CSV has more values than the header.')
    return [{name.strip(): value for name, value in row.items()
             if value not in (None, '')} for row in rows]


def _yaml(path: str, text: str) -> Any:
    import yaml
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as exc:
        mark = getattr(exc, 'problem_mark', None)
        line = f' at line {mark.line + 1}' if mark else ''
        raise checks.ModelError(f'{path} is not valid YAML{line}.') from None


def _task(row: _Row, default: str) -> tasks_.Task:
    name = str(row.get('name', '') or default)
    times: dict[str, int] = {}
    for field, value in row.items():
        if field == 'name':
            continue
        known = _TIME.fullmatch(field)
        if known is None:
            raise checks.ModelError(
                f'{name} has {wording.shown(field)}: give wcet, period, '
                'deadline (with _us, _ms or _s) and name.')
        what = known[1]
        if what in times:
            raise checks.ModelError(f'{name} has its {what} twice.')
        times[what] = checks.parse_time_us(
            f'The {what} of {name}', value, known[2] or 'us')
    for needed in ('wcet', 'period'):
        if needed not in times:
            raise checks.ModelError(f'{name} has no {needed}.')
    return tasks_.Task(times['wcet'], times['period'],
                       times.get('deadline', 0), name)


def _stage(row: _Row,
           number: int) -> tuple[str, queueing.Service]:
    name = str(row.get('name', '') or f'stage{number}')
    for field in row:
        if field not in _STAGE:
            raise checks.ModelError(
                f'{name} has {wording.shown(field)}: give '
                f'{", ".join(_STAGE)}.')
    for needed in ('arrival_rate', 'processing_us'):
        if needed not in row:
            raise checks.ModelError(f'{name} has no {needed}.')
    numbers = {field: _number(f'{field} of {name}', value)
               for field, value in row.items() if field != 'name'}
    return name, service(**numbers)


def _number(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        raise checks.ModelError(
            f'{name} is {wording.shown(value)}: give a number.') from None
