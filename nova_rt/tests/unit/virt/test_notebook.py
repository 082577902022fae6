# SPDX-License-Identifier: Apache-2.0
"""Notes are read again whenever, and only when, their file is another."""

import json
import os

import pytest

from nova_rt.virt import notebook


@pytest.fixture
def folder(tmp_path):
    return tmp_path / 'notes'


@pytest.fixture
def read(folder):
    """What reads a note, and counts in ``read.times`` how often it was asked."""
    def read(path):
        read.times += 1
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError):
            return None
    read.times = 0
    return read


def test_a_note_is_read_once(folder, read):
    notes = notebook.Notebook(folder, read)
    notes.write('machine/web', 1)
    assert [notes.of('machine/web'), notes.of('machine/web'), *notes] == [1, 1, 1]
    assert read.times == 1


def test_what_another_process_writes_and_removes_is_seen(folder, read):
    notes, others = notebook.Notebook(folder, read), notebook.Notebook(folder, read)
    for value in range(100):
        others.write('web', value)
        assert notes.of('web') == value
    others.forget('web')
    assert notes.of('web') is None
    assert list(notes) == []


def test_what_could_not_be_read_is_read_again(folder, read):
    notes = notebook.Notebook(folder, read)
    notes.write('web', 1)
    path = folder / 'web'
    path.write_text('?')
    before = path.stat()
    assert notes.of('web') is None
    path.write_text('2')
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert notes.of('web') == 2


def test_nothing_is_noted_where_there_is_no_folder(folder, read):
    notes = notebook.Notebook(folder, read)
    assert list(notes) == []
    assert notes.of('web') is None
    notes.forget('web')
