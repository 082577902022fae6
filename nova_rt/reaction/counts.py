# SPDX-License-Identifier: Apache-2.0
"""How often this host has reacted to misses since it booted, for the exporter.

That is a process of its own, so the numbers are in a file, which a boot empties. They are
nobody's record: a reaction is done, whether or not it could be counted.
"""

from __future__ import annotations

from collections.abc import Mapping
import enum
import json
import os
import pathlib
import threading

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

FOLDER = pathlib.Path('/run/nova-rt')
_NAME = 'reactions'

_turn = threading.Lock()


class Reaction(enum.StrEnum):
    """What is done about misses, by the name that it has in metrics.

    ``LOAN`` is something lent to a server that had nothing on loan, ``MOVE`` a vCPU moved to
    another pCPU, ``SHRINK`` a server that has less for another, ``STOP`` one that is stopped
    for another, ``START`` one of those that is started again.
    """

    LOAN = 'loan'
    MOVE = 'move'
    SHRINK = 'shrink'
    STOP = 'stop'
    START = 'start'


def add(reaction: Reaction) -> None:
    """Count one more; any thread of the service may call."""
    with _turn:
        new = FOLDER / f'.{_NAME}'
        try:
            FOLDER.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps({
                each: number + (each is reaction) for each, number in counted().items()}))
            os.replace(new, FOLDER / _NAME)
        except OSError as exc:
            LOG.warning('A reaction is not counted in the metrics: %s', exc)


def counted() -> Mapping[str, int]:
    """Return how often there was each; where that cannot be read, never."""
    try:
        told = json.loads((FOLDER / _NAME).read_text())
        return {each: int(told.get(each, 0)) for each in Reaction}
    except (OSError, ValueError, TypeError, AttributeError):
        return dict.fromkeys(Reaction, 0)
