# SPDX-License-Identifier: Apache-2.0
"""What an activity of a server tells of its jobs: ``jobs/record.h``.

A tenant has written it: it may be anything.
"""

from __future__ import annotations

from collections.abc import Callable
import re
import struct
from typing import NamedTuple

from nova_rt import errors

MAGIC = b'NRTJ'
VERSION = 1
# Magic, version, size; sequence to reported_ns; pid, reserved; opened_ns; name.
_LAYOUT = struct.Struct('=4sHH13QIIQ64s')
SIZE = _LAYOUT.size
NAME_AT = 128
# What each record begins with.
HEADER = struct.pack('=4sHH', MAGIC, VERSION, SIZE)
_SEQUENCE = struct.Struct('=Q')
_SEQUENCE_AT = 8
_TRIES = 4
# Where the lowest bit of a sequence is on this machine.
_LOWEST_BYTE = _SEQUENCE.pack(1).index(1)
# What the library writes is far below; sums of two stay in 64 bits.
_LATEST_NS = 2 ** 63 - 1
_NAME = re.compile(rb'[A-Za-z0-9_-][A-Za-z0-9_.-]{0,62}')


class RecordError(errors.NovaRTError):
    """It is no record; the message says why."""


class Record(NamedTuple):
    """An activity's counts since it was first reported; times in ns.

    Points in time are those of the server's CLOCK_MONOTONIC.

    :ivar jobs: that have ended
    :ivar consecutive: the misses since a job last met its deadline
    :ivar missed_began_ns: when the job was released that last missed its deadline
    :ivar began_ns: when the present job is or was released, 0 if there is none
    :ivar overruns: jobs that used up their runtime (SIGXCPU)
    :ivar reported_ns: when the host was last woken
    """

    name: str
    period_ns: int
    deadline_ns: int
    jobs: int
    misses: int
    consecutive: int
    last_response_ns: int
    worst_response_ns: int
    missed_began_ns: int
    missed_response_ns: int
    began_ns: int
    overruns: int
    reported_ns: int


def decode(data: bytes) -> Record:
    """Return what a record says.

    :raises RecordError: if it contradicts itself, or is no record at all
    """
    if len(data) != SIZE:
        raise RecordError(f'It has not {SIZE} bytes.')
    magic, version, size, sequence, *numbers, _pid, _reserved, _opened, name = (
        _LAYOUT.unpack(data))
    if (magic, version, size) != (MAGIC, VERSION, SIZE):
        raise RecordError(f'It is no record of version {VERSION}.')
    if sequence % 2:
        raise RecordError('It is being written.')
    name = name.rstrip(b'\0')
    if not _NAME.fullmatch(name):
        raise RecordError('Its name is not valid.')
    record = Record(name.decode('ascii'), *numbers)
    _check(record)
    return record


def unknown(record: Record) -> Record:
    """Return what is known of an activity before anything is."""
    return record._replace(misses=0, overruns=0)


def all_but_last(record: Record) -> Record:
    """Return what is known of an activity that may have been heard of elsewhere.

    Of all that its first report counts, one miss is new, which caused it, if it does not
    tell of a job that hangs.
    """
    if record.began_ns and record.reported_ns - record.began_ns > record.deadline_ns:
        return record
    return record._replace(misses=max(record.misses - 1, 0))


def _check(record: Record) -> None:
    if not (0 < record.period_ns <= _LATEST_NS and 0 < record.deadline_ns <= _LATEST_NS):
        raise RecordError('Its period or deadline is not valid.')
    if not record.consecutive <= record.misses <= record.jobs:
        raise RecordError('It counts more misses than jobs.')
    if max(record.last_response_ns, record.missed_response_ns) > record.worst_response_ns:
        raise RecordError('A response is longer than the worst.')
    if record.misses and record.missed_response_ns <= record.deadline_ns:
        raise RecordError('The job that missed its deadline met it.')
    if max(record.worst_response_ns, record.missed_began_ns, record.began_ns,
           record.reported_ns) > _LATEST_NS:
        raise RecordError('A time is not valid.')


def consistent(read: Callable[[int, int], bytes]) -> bytes | None:
    """Return a record that was not being written while it was read.

    The sequence is read in calls of its own, before and after: nobody says in which
    order one call copies bytes.

    :param read: returns so many bytes from there, or fewer
    :return: None if it is written all the time, or its writer was killed meanwhile
    """
    for _ in range(_TRIES):
        before = read(_SEQUENCE.size, _SEQUENCE_AT)
        # One more than it should have, to see whether there is more.
        data = read(SIZE + 1, 0)
        after = read(_SEQUENCE.size, _SEQUENCE_AT)
        # What is too short is for decode() to refuse.
        if before == after and not (len(before) == _SEQUENCE.size and before[_LOWEST_BYTE] % 2):
            return data
    return None


