# SPDX-License-Identifier: Apache-2.0
"""What outsiders' CI runs is what the Makefile has."""

import importlib.machinery
import importlib.util
import pathlib
import re

import pytest
import yaml

from nova_rt.tests.e2e import driver

ROOT = pathlib.Path(__file__).parents[3]


def makefile_targets():
    text = (ROOT / 'Makefile').read_text()
    return {name for line in re.findall(r'^([a-z0-9 -]+):.*##', text,
                                        re.MULTILINE)
            for name in line.split()}


def zuul():
    jobs = yaml.safe_load((ROOT / '.zuul.d/jobs.yaml').read_text())
    return {each['job']['name']: each['job'] for each in jobs}


def zuul_targets():
    return [job['vars']['targets'].split() for job in zuul().values()
            if 'vars' in job]


def github_targets():
    workflow = yaml.safe_load(
        (ROOT / '.github/workflows/ci.yml').read_text())
    matrix = workflow['jobs']['make']['strategy']['matrix']
    return [each.split() for each in matrix['targets']]


@pytest.mark.parametrize('targets', [zuul_targets, github_targets])
def test_only_targets_of_the_makefile_are_called(targets):
    called = {name for each in targets() for name in each}
    assert called <= makefile_targets()


def test_zuul_and_github_run_the_same():
    assert sorted(zuul_targets()) == sorted(github_targets())


def test_they_run_at_least_what_make_test_does():
    text = (ROOT / 'Makefile').read_text()
    listed = re.search(r'tools/run-tests ((?:.|\\\n)*?)\n\n', text)[1]
    ours = {f'test-{name}' if f'test-{name}' in makefile_targets() else name
            for name in listed.replace('\\', ' ').split()}
    called = {name for each in github_targets() for name in each}
    assert ours <= called


@pytest.fixture
def run_tests():
    loader = importlib.machinery.SourceFileLoader(
        'run_tests', str(ROOT / 'tools/run-tests'))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('run_tests', loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def built(run_tests, tmp_path, monkeypatch):
    """Where a stand-in for kernel/build tells what it was asked for."""
    build = tmp_path / 'kernel' / 'build'
    build.parent.mkdir()
    build.write_text('#!/bin/sh\n'
                     'echo "$1 $$ $(chrt -p $$ | head -1)" >> built\n'
                     '[ "$1" != node ] || exec sleep 1000\n')
    build.chmod(0o755)
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    return tmp_path / 'built'


def test_kernels_are_built_from_idle_time_until_the_tests_end(
        run_tests, built):
    with run_tests.kernels_built(['pep8', 'kernel', 'guest']):
        driver.until(lambda: built.exists() and 'node' in built.read_text(),
                     'the last is being built')
        lines = [line.split() for line in built.read_text().splitlines()]
    assert [line[0] for line in lines] == ['hcbs', 'stock', 'node']
    assert {line[-1] for line in lines} == {'SCHED_IDLE'}
    driver.until(lambda: not pathlib.Path('/proc', lines[-1][1]).exists(),
                 'the build has ended')


def test_no_kernel_is_built_that_nobody_needs(run_tests, built):
    with run_tests.kernels_built(['pep8', 'unit']):
        pass
    assert not built.exists()


def test_zuuls_project_names_jobs_that_are_defined():
    project, = yaml.safe_load((ROOT / '.zuul.d/project.yaml').read_text())
    for pipeline in ('check', 'gate'):
        assert {*project['project'][pipeline]['jobs']} <= {*zuul()}


@pytest.mark.parametrize('key', ['run', 'post-run'])
def test_a_jobs_playbook_exists(key):
    for job in zuul().values():
        if key in job:
            assert (ROOT / job[key]).exists()
