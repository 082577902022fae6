# SPDX-License-Identifier: Apache-2.0
"""Reactions, counted across processes."""

import concurrent.futures

import pytest

from nova_rt.reaction import counts

NEVER = dict.fromkeys(counts.Reaction, 0)


def test_where_nothing_has_happened_all_are_zero():
    assert counts.counted() == NEVER


def test_threads_that_count_at_once_lose_nothing():
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        list(threads.map(counts.add, list(counts.Reaction) * 40))
    assert counts.counted() == dict.fromkeys(counts.Reaction, 40)


@pytest.mark.parametrize('text', ['', '[]', '{"loan": null}', '{"loan": "x"}', '{'])
def test_a_file_that_says_nothing_counts_as_none(text):
    counts.add(counts.Reaction.LOAN)
    (counts.FOLDER / 'reactions').write_text(text)
    assert counts.counted() == NEVER
    counts.add(counts.Reaction.STOP)
    assert counts.counted() == NEVER | {counts.Reaction.STOP: 1}


def test_what_a_later_release_counts_hinders_nobody():
    counts.FOLDER.mkdir()
    (counts.FOLDER / 'reactions').write_text('{"loan": 2, "other": 7}')
    assert counts.counted() == NEVER | {counts.Reaction.LOAN: 2}


def test_what_cannot_be_counted_is_logged(caplog):
    counts.FOLDER.write_text('no folder')
    counts.add(counts.Reaction.LOAN)
    assert 'A reaction is not counted in the metrics' in caplog.text
