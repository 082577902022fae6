# SPDX-License-Identifier: Apache-2.0
"""A record may be anything: a tenant writes it, perhaps just now."""

import hypothesis
from hypothesis import strategies as st
import pytest

from nova_rt.monitor import record
from nova_rt.tests.unit.monitor import examples


def test_it_says_what_was_written():
    found = record.decode(examples.missed(name=b'arm', began_ns=3, overruns=4, reported_ns=7))
    assert found == record.Record(
        'arm', 10_000_000, 8_000_000, 1, 1, 1, 9_000_000, 9_000_000, 0, 9_000_000, 3, 4, 7)


@pytest.mark.parametrize(('data', 'why'), [
    (b'', '192 bytes'), (examples.pack() + b'\0', '192 bytes'),
    (examples.pack(magic=b'NRTX'), 'version 1'), (examples.pack(version=2), 'version 1'),
    (examples.pack(size=191), 'version 1'), (examples.pack(sequence=3), 'being written'),
    (examples.pack(name=b''), 'name'), (examples.pack(name=b'../shadow'), 'name'),
    (examples.pack(name=b'.a'), 'name'), (examples.pack(name=b'a\0b'), 'name'),
    (examples.pack(name=b'a' * 64), 'name'), (examples.pack(name='ä'.encode()), 'name'),
    (examples.pack(period_ns=0), 'period'), (examples.pack(deadline_ns=0), 'deadline'),
    (examples.pack(deadline_ns=2 ** 63), 'deadline'), (examples.pack(misses=6), 'misses'),
    (examples.pack(consecutive=1), 'misses'), (examples.pack(last_response_ns=1), 'worst'),
    (examples.pack(misses=1), 'met it'), (examples.pack(began_ns=2 ** 63), 'time'),
    (examples.pack(worst_response_ns=2 ** 64 - 1), 'time'),
])
def test_what_is_no_record_is_refused(data, why):
    with pytest.raises(record.RecordError, match=why):
        record.decode(data)


ANY = st.one_of(
    st.binary(max_size=400), st.binary(min_size=192, max_size=192),
    st.builds(lambda fields, name: examples.pack(name, **fields),
              st.dictionaries(st.sampled_from(examples.FIELDS), st.integers(0, 2 ** 64 - 1)
                              | st.integers(0, 9)), st.binary(max_size=64)),
    # A record with some bytes changed.
    st.builds(lambda at, byte: bytes(record_with(at, byte)),
              st.integers(0, 191), st.integers(0, 255)))


def record_with(at, byte):
    data = bytearray(examples.missed())
    data[at] = byte
    return data


@hypothesis.given(ANY)
def test_whatever_is_written_misleads_nobody(data):
    try:
        found = record.decode(data)
    except record.RecordError:
        return
    assert 0 <= found.consecutive <= found.misses <= found.jobs < 2 ** 64
    assert found.period_ns > 0
    assert found.deadline_ns > 0
    assert not found.misses or found.deadline_ns < found.missed_response_ns
    assert found.missed_response_ns <= found.worst_response_ns < 2 ** 63
    assert found.name.isascii()
    assert '/' not in found.name
    assert found.name not in ('', '.', '..')


class Writer:
    """A record that is written step by step, and a reader whom each step may interrupt.

    :param steps: how many, before each part that is read
    """

    def __init__(self, steps):
        self.memory = bytearray(examples.missed(1, sequence=2))
        self.complete = [bytes(self.memory)]
        self._todo = self._writes()
        self._steps = iter(steps)

    def _writes(self):
        for number in range(2, 99):
            after = examples.missed(number, sequence=2 * number)
            for at, part in ((8, (2 * number - 1).to_bytes(8, 'little')),
                             (32, after[32:40]), (40, after[40:48]), (48, after[48:56]),
                             (8, after[8:16])):
                self.memory[at:at + 8] = part
                if at == 8 and part == after[8:16]:
                    self.complete.append(after)
                yield

    def read(self, size, at):
        """Copy a record's words last to first, as nobody says that no kernel does."""
        words = {}
        for word in reversed(range(at, min(at + size, 192), 8)):
            for _ in range(next(self._steps, 0)):
                next(self._todo)
            words[word] = bytes(self.memory[word:word + 8])
        return b''.join(words[word] for word in sorted(words))


@pytest.mark.skipif(examples.LAYOUT.pack(b'', 1, *[0] * 17, b'')[4] == 0,
                    reason='The example is written for little-endian machines.')
@hypothesis.given(st.lists(st.sampled_from([0, 0, 0, 1, 2, 5]), max_size=80))
def test_what_is_read_while_it_is_written_is_complete_or_nothing(steps):
    writer = Writer(steps)
    data = record.consistent(writer.read)
    assert data is None or data in writer.complete


def test_a_record_whose_writer_was_killed_is_nothing():
    data = examples.pack(sequence=3)
    assert record.consistent(lambda size, at: data[at:at + size]) is None


@pytest.mark.parametrize('data', [b'', b'x' * 9, b'x' * 15, b'x' * 1000])
def test_what_has_another_size_is_not_read_for_long(data):
    sizes = []

    def read(size, at):
        sizes.append(size)
        return data[at:at + size]
    assert record.consistent(read) in (None, data[:193])
    assert sum(sizes) <= 4 * (193 + 16)
