# SPDX-License-Identifier: Apache-2.0
"""What of ``make test-kolla`` needs no machine of its own."""

import json
from pathlib import Path
import re
import runpy
import subprocess
import sys

import pytest
import yaml

import kolla

KOLLA = Path(kolla.__file__).parent / 'docker'
REAL = Path(__file__).parents[1] / 'real'


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


@pytest.mark.parametrize('override', [REAL, REAL.parent])
def test_every_block_that_we_override_is_one_of_kollas(override):
    """Kolla ignores any other."""
    theirs = ''.join(path.read_text() for path in KOLLA.rglob('Dockerfile.j2'))
    ours = re.findall(r'{% block (\w+) %}', (override / 'template-override.j2').read_text())
    assert ours
    for block in ours:
        assert re.search(rf'{{% block {block} %}}', theirs), block


def test_every_variable_of_the_cloud_is_one_of_kolla_ansibles():
    folder = Path(sys.prefix) / 'share/kolla-ansible/ansible'
    known = ''.join(path.read_text() for where in ('group_vars/all', 'roles')
                    for path in (folder / where).rglob('*.yml'))
    for name in ('globals.yml', 'machine.yml'):
        for variable in yaml.safe_load((REAL / 'cloud' / name).read_text()):
            assert re.search(rf'^{variable}:', known, re.MULTILINE), variable


def test_a_command_in_a_container_gets_no_limits_either(tmp_path):
    path = tmp_path / 'process.json'
    path.write_text(json.dumps({'args': ['ls'], 'rlimits': [{'type': 'RLIMIT_MEMLOCK'}]}))
    runpy.run_path(str(REAL / 'crun'))['change'](path)
    assert json.loads(path.read_text()) == {'args': ['ls']}
