# SPDX-License-Identifier: Apache-2.0
"""A stream of records, cut and broken anywhere."""

import hypothesis
from hypothesis import strategies as st

from nova_rt.monitor import frames
from nova_rt.tests.unit.monitor import examples

RECORDS = st.integers(1, 99).map(examples.missed)
NOISE = st.binary(max_size=300) | st.sampled_from(
    [b'NRTJ', b'NRT', examples.pack()[:100], examples.pack(sequence=1)])


def fed(stream, sizes):
    cutter, found, at = frames.Frames(), [], 0
    for size in sizes:
        found += cutter.feed(stream[at:at + size])
        at += size
    return found + cutter.feed(stream[at:])


@hypothesis.given(st.lists(RECORDS), st.lists(st.integers(1, 500)))
def test_records_come_out_as_they_went_in_however_they_are_cut(records, sizes):
    assert fed(b''.join(records), sizes) == records


@hypothesis.given(st.lists(st.tuples(NOISE, RECORDS)), st.lists(st.integers(1, 500)))
def test_what_follows_noise_is_found_unless_the_noise_is_a_record(parts, sizes):
    stream = b''.join(noise + found for noise, found in parts)
    assert [found for _, found in parts] == fed(stream, sizes)


@hypothesis.given(st.lists(st.binary(max_size=500)))
def test_noise_is_not_kept(parts):
    cutter = frames.Frames()
    for part in parts:
        cutter.feed(part)
        assert len(cutter._rest) < 192


@hypothesis.given(st.lists(RECORDS, max_size=5), st.lists(st.integers(1, 500)),
                  st.lists(st.integers(1, 500)))
def test_every_split_of_a_broken_stream_gives_the_same(records, sizes, others):
    stream = b'NRTJ'.join(records) + examples.pack()[:100] + b''.join(records)[7:]
    assert fed(stream, sizes) == fed(stream, others) == fed(stream, [])
