# SPDX-License-Identifier: Apache-2.0
"""kubernetes/test keeps the programs that it has built, also those of other clones."""

import importlib.machinery
import importlib.util
import os
import pathlib
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DAY = 24 * 3600
GO = """#!/bin/sh
[ "$1" != version ] || exec echo go1.26
while [ "$1" != -o ]; do shift; done
echo built > "$2"
"""


@pytest.fixture
def stage(tmp_path, monkeypatch):
    monkeypatch.setenv('NOVA_RT_CACHE', str(tmp_path / 'cache'))
    loader = importlib.machinery.SourceFileLoader('stage', str(ROOT / 'kubernetes/test'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('stage', loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def build(stage, tmp_path):
    """Build a module of some sources; return its program."""
    go = tmp_path / 'go'
    go.write_text(GO)
    go.chmod(0o755)
    module = tmp_path / 'controlplane'
    module.mkdir()

    def built(sources):
        (module / 'main.go').write_text(sources)
        return stage.built(str(go), module, '.')
    return built


def age(program, days):
    then = time.time() - days * DAY
    os.utime(program, (then, then))


def test_a_program_of_another_clone_stays_while_that_uses_it(build):
    theirs = build('theirs')
    age(theirs, 2)
    ours = build('ours')
    assert theirs != ours
    assert theirs.exists()
    assert ours.exists()


def test_a_program_that_nobody_has_used_for_days_is_removed(build):
    theirs = build('theirs')
    age(theirs, 4)
    build('ours')
    assert not theirs.exists()


def test_a_program_that_is_used_is_not_built_anew_and_counts_as_used(build):
    theirs = build('theirs')
    theirs.write_text('built once')
    age(theirs, 4)
    assert build('theirs') == theirs
    build('ours')
    assert theirs.read_text() == 'built once'
