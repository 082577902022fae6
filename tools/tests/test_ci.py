# SPDX-License-Identifier: Apache-2.0
"""Zuul, GitHub and pre-commit run what make runs."""

import pathlib
import re

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]


def makefile_targets():
    text = (ROOT / 'Makefile').read_text()
    rules = re.findall(r'^([a-z0-9 -]+):.*##', text, re.MULTILINE)
    return {name for rule in rules for name in rule.split()}


def zuul():
    """Return Zuul's jobs by name."""
    jobs = yaml.safe_load((ROOT / '.zuul.d/jobs.yaml').read_text())
    return {entry['job']['name']: entry['job'] for entry in jobs}


def zuul_targets():
    return [job['vars']['targets'].split() for job in zuul().values()
            if 'vars' in job]


def github_targets():
    workflow = yaml.safe_load(
        (ROOT / '.github/workflows/ci.yml').read_text())
    matrix = workflow['jobs']['make']['strategy']['matrix']
    return [targets.split() for targets in matrix['targets']]


@pytest.mark.parametrize('targets', [zuul_targets, github_targets])
def test_only_targets_of_the_makefile_are_called(targets):
    called = {name for job in targets() for name in job}
    assert called <= makefile_targets()


def test_zuul_and_github_run_the_same():
    assert sorted(zuul_targets()) == sorted(github_targets())


def test_they_run_at_least_what_make_test_does():
    text = (ROOT / 'Makefile').read_text()
    listed = re.search(r'tools/run-tests ((?:.|\\\n)*?)\n\n', text)[1]
    called = {name for job in github_targets() for name in job}
    # Some have a bigger variant beside them, as kolla has test-kolla.
    assert not [name for name in listed.replace('\\', ' ').split()
                if not {name, f'test-{name}'} & called]


def test_zuuls_project_names_jobs_that_are_defined():
    project, = yaml.safe_load((ROOT / '.zuul.d/project.yaml').read_text())
    for pipeline in ('check', 'gate'):
        assert {*project['project'][pipeline]['jobs']} <= {*zuul()}


@pytest.mark.parametrize('key', ['run', 'post-run'])
def test_a_jobs_playbook_exists(key):
    for job in zuul().values():
        if key in job:
            assert (ROOT / job[key]).exists()


def test_hooks_of_pre_commit_come_from_the_environment_that_tox_makes():
    config = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())
    entries = [hook['entry'].split()[0]
               for repository in config['repos'] for hook in repository['hooks']]
    nova = (ROOT / 'tox.ini').read_text().split('[testenv:nova]')[1].split('\n[')[0]
    for entry in entries:
        folder, _, program = entry.rpartition('/')
        assert folder == '.tox/nova/bin'
        assert re.search(rf'^    {program}\b', nova, re.MULTILINE)
