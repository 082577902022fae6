# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan simulate: place reservations on a fleet, line by line."""

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
import io
import json
import sys
from typing import Any

from nova_rt import fitting
from nova_rt import fleet
from nova_rt import reservation
from nova_rt import wording
from nova_rt.cmd import plan_options

Answer = dict[str, Any]


class _BadLineError(Exception):
    """A line that asks for nothing that can be done; one sentence."""


def add_parser(commands: Any) -> None:
    """Add the subcommand to argparse's subparsers."""
    parser: argparse.ArgumentParser = commands.add_parser(
        'simulate', allow_abbrev=False,
        help='place reservations read as JSON lines on a fleet',
        description='Read operations as JSON lines on standard input, such '
        'as {"op": "add", "id": "c1", "runtime_us": 50000, "period_us": '
        '100000, "vcpus": 2} or {"op": "remove", "id": "c1"}, and print one '
        'JSON line for each: where it was placed, or why not.')
    plan_options.add_fleet(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer standard input line by line on standard output."""
    cloud = fleet.Fleet(
        plan_options.empty_hosts(arguments), arguments.policy)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A lone surrogate in an id goes out as the escape it came in as.
        sys.stdout.reconfigure(encoding='utf-8', errors='backslashreplace')
    for answer in answers(cloud, sys.stdin.buffer):
        print(json.dumps(answer, ensure_ascii=False), flush=True)
    return 0


def answers(cloud: fleet.Fleet, lines: Iterable[bytes]) -> Iterator[Answer]:
    """Yield one answer for each line, doing on the fleet what it asks for.

    An answer holds ``id``, ``host`` and ``pcpus``, and ``removed`` after a
    removal; or ``rejected``, with ``id`` if the line has one that is a text.
    """
    for line in lines:
        answer: Answer = {}
        try:
            wish = _parse(line)
            if isinstance(wish.get('id'), str):
                answer['id'] = wish['id']
            answer.update(_done(cloud, wish))
        except (_BadLineError, reservation.InvalidReservationError,
                fitting.NoRoomError, fleet.UnknownReservationError,
                fleet.DuplicateReservationError) as reason:
            answer['rejected'] = str(reason)
        yield answer


def _parse(line: bytes) -> dict[str, Any]:
    try:
        wish = json.loads(line.decode())
    except UnicodeDecodeError:
        raise _BadLineError('The line is not UTF-8 text.') from None
    except json.JSONDecodeError as error:
        raise _BadLineError(
            f'The line is not JSON: {error.msg} at column {error.colno}.'
        ) from None
    except RecursionError:
        raise _BadLineError('The line is nested too deeply.') from None
    except ValueError:
        # Python reads no whole number of more than 4300 digits.
        raise _BadLineError(
            'The line holds a number with too many digits.') from None
    if not isinstance(wish, dict):
        raise _BadLineError('The line is JSON but not an object: write '
                            '{"op": ..., "id": ...}.')
    return wish


def _done(cloud: fleet.Fleet, wish: dict[str, Any]) -> Answer:
    operation = _field(wish, 'op')
    if operation not in ('add', 'remove'):
        raise _BadLineError(
            f'The op is {_json(operation)}: give "add" or "remove".')
    name = _field(wish, 'id')
    if not isinstance(name, str) or not name:
        raise _BadLineError(
            f'The id is {_json(name)}: give a text that is not empty.')
    if operation == 'remove':
        placed = cloud.remove(name)
    else:
        placed = cloud.add(name, reservation.Reservation(
            *(_number(wish, field)
              for field in ('runtime_us', 'period_us', 'vcpus'))))
    answer: Answer = {'host': placed.host, 'pcpus': list(placed.pcpus)}
    return answer | {'removed': True} if operation == 'remove' else answer


def _field(wish: dict[str, Any], name: str) -> Any:
    if name not in wish:
        raise _BadLineError(f'The field {name} is missing.')
    return wish[name]


def _number(wish: dict[str, Any], name: str) -> int:
    value = _field(wish, name)
    if isinstance(value, list):
        raise _BadLineError(f'{name} is a list: give a whole number.')
    return reservation.parse_number(name, value)


def _json(value: Any) -> str:
    return wording.shortened(json.dumps(value, ensure_ascii=False))
