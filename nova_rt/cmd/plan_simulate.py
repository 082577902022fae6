# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan simulate: place reservations on a fleet, line by line."""

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
import io
import json
import sys

from nova_rt import errors
from nova_rt import fleet
from nova_rt import reservation
from nova_rt import wording
from nova_rt.cmd import plan_command
from nova_rt.cmd import plan_options

Answer = dict[str, str | bool | list[int]]
_Operation = dict[str, object]
_NUMBERS = ('runtime_us', 'period_us', 'vcpus')
_FIELDS = ('op', 'id', *_NUMBERS)


class ClosedInputError(errors.NovaRTError):
    """There is no standard input; the message is a sentence."""


class _BadLineError(errors.NovaRTError):
    """A line asks for nothing that can be done; the message is a sentence."""


class Simulate(plan_command.Command):
    """Place reservations read as JSON lines on a fleet.

    Reads operations as JSON lines on standard input, such as {"op": "add",
    "id": "c1", "runtime_us": 50000, "period_us": 100000, "vcpus": 2} or
    {"op": "remove", "id": "c1"}, and prints one JSON line for each: where it
    was placed, or why not.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the fleet."""
        parser = super().get_parser(prog_name)
        plan_options.add_fleet(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Answer standard input line by line on standard output.

        :raises ClosedInputError: if there is no standard input
        """
        if sys.stdin is None:
            raise ClosedInputError('Standard input is closed: give it JSON '
                                   'lines.')
        cloud = fleet.Fleet(
            plan_options.empty_hosts(parsed_args), parsed_args.policy)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A lone surrogate in an id is printed as the escape it was.
            sys.stdout.reconfigure(encoding='utf-8', errors='backslashreplace')
        for answer in answers(cloud, sys.stdin.buffer):
            print(json.dumps(answer, ensure_ascii=False), flush=True)


def answers(cloud: fleet.Fleet, lines: Iterable[bytes]) -> Iterator[Answer]:
    """Yield one answer for each line, doing on the fleet what it asks for.

    An answer holds ``id``, ``host`` and ``pcpus``, and ``removed`` after a
    removal; or ``rejected``, with ``id`` if the line has one that is a text.
    """
    for line in lines:
        answer: Answer = {}
        try:
            operation = _parse(line)
            if isinstance(name := operation.get('id'), str):
                answer['id'] = name
            answer.update(_carry_out(cloud, operation))
        except errors.NovaRTError as exc:
            answer['rejected'] = str(exc)
        yield answer


def _parse(line: bytes) -> _Operation:
    try:
        operation = json.loads(line.decode())
    except UnicodeDecodeError:
        raise _BadLineError('The line is not UTF-8 text.') from None
    except json.JSONDecodeError as exc:
        raise _BadLineError(
            f'The line is not JSON: {exc.msg} at column {exc.colno}.'
        ) from None
    except RecursionError:
        raise _BadLineError('The line is nested too deeply.') from None
    except ValueError:
        # Python reads no whole number of more than 4300 digits.
        raise _BadLineError(
            'The line holds a number with too many digits.') from None
    if not isinstance(operation, dict):
        raise _BadLineError('The line is JSON but not an object: write '
                            '{"op": ..., "id": ...}.')
    return operation


def _carry_out(cloud: fleet.Fleet, operation: _Operation) -> Answer:
    kind = _field(operation, 'op')
    if kind not in ('add', 'remove'):
        raise _BadLineError(
            f'The op is {_json(kind)}: give "add" or "remove".')
    name = _field(operation, 'id')
    if not isinstance(name, str) or not name:
        raise _BadLineError(
            f'The id is {_json(name)}: give a text that is not empty.')
    for field in operation:
        if field not in _FIELDS:
            raise _BadLineError(
                f'The field {_json(field)} is unknown: give '
                f'{", ".join(_FIELDS)}.')
    if kind == 'remove':
        placed = cloud.remove(name)
    else:
        placed = cloud.add(name, reservation.Reservation(
            *(_number(operation, field)
              for field in _NUMBERS)))
    answer: Answer = {'host': placed.host, 'pcpus': list(placed.pcpus)}
    return answer | {'removed': True} if kind == 'remove' else answer


def _field(operation: _Operation, name: str) -> object:
    if name not in operation:
        raise _BadLineError(f'The field {name} is missing.')
    return operation[name]


def _number(operation: _Operation, name: str) -> int:
    value = _field(operation, name)
    if isinstance(value, list):
        raise _BadLineError(f'{name} is a list: give a whole number.')
    return reservation.parse_number(name, value)


def _json(value: object) -> str:
    return wording.shortened(json.dumps(value, ensure_ascii=False))
