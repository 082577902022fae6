# SPDX-License-Identifier: Apache-2.0
"""What of ``make test-kolla`` needs no machine of its own."""

import json
import pathlib
import runpy
import subprocess

REAL = pathlib.Path(__file__).parents[1] / 'real'


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
