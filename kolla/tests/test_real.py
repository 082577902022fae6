# SPDX-License-Identifier: Apache-2.0
"""What of ``make test-kolla`` needs no machine of its own."""

import json
import os
import pathlib
import runpy
import subprocess

REAL = pathlib.Path(__file__).parents[1] / 'real'


def test_without_full_it_is_skipped_with_a_reason():
    done = subprocess.run((REAL / 'test',), capture_output=True, text=True,
                          env={'PATH': os.environ['PATH'], 'HOME': '/'})
    assert done.returncode == 0
    assert done.stderr == 'kolla/real/test: skipped: it takes half an hour: set FULL=1\n'
    assert done.stdout == '0 passed, 0 failed, 1 skipped\n'


def test_a_container_gets_neither_limits_nor_the_capability_to_raise_them(tmp_path):
    path = tmp_path / 'config.json'
    path.write_text(json.dumps({'process': {
        'args': ['true'], 'oomScoreAdj': 0,
        'rlimits': [{'type': 'RLIMIT_NOFILE', 'hard': 1, 'soft': 1}],
        'capabilities': {'bounding': ['CAP_CHOWN', 'CAP_SYS_RESOURCE'], 'ambient': []}}}))
    runpy.run_path(str(REAL / 'crun'))['change'](path)
    assert json.loads(path.read_text()) == {'process': {
        'args': ['true'], 'capabilities': {'bounding': ['CAP_CHOWN'], 'ambient': []}}}


def test_sources_that_are_there_are_not_fetched_again(tmp_path):
    (tmp_path / 'requirements').mkdir()
    subprocess.run((REAL / 'sources', tmp_path, tmp_path / 'none'), check=True)
    assert [*tmp_path.iterdir()] == [tmp_path / 'requirements']
