# SPDX-License-Identifier: Apache-2.0
"""What outsiders' CI runs is what the Makefile has."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

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


@pytest.fixture
def testing(tmp_path):
    """tools/run-tests at work, with a stand-in for tox that gives back."""
    tools, programs = tmp_path / 'tools', tmp_path / 'bin'
    for folder in (tools, programs):
        folder.mkdir()
    shutil.copy(ROOT / 'tools/run-tests', tools)
    (programs / 'python').symlink_to(sys.executable)
    (programs / 'tox').write_text(STAND_IN.format(sys.executable))
    (programs / 'tox').chmod(0o755)
    process = subprocess.Popen(
        (programs / 'python', tools / 'run-tests', 'unit'), cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True)
    driver.until((tmp_path / 'started').exists, 'tox runs')
    yield process
    process.kill()
    process.communicate()


STAND_IN = """#!{}
import pathlib, signal, time

def give_back(number, frame):
    time.sleep(1)  # longer than Popen.wait() waits after Ctrl-C
    pathlib.Path('given-back').touch()
    raise SystemExit(1)

signal.signal(signal.SIGINT, give_back)
pathlib.Path('started').touch()
time.sleep(60)
"""


@pytest.mark.parametrize('interrupt', [
    lambda process: process.terminate(),
    lambda process: os.killpg(process.pid, signal.SIGINT)],
    ids=['as CI cancels it', 'with Ctrl-C'])
def test_interrupted_tests_have_given_back_before_the_status_is_130(
        testing, tmp_path, interrupt):
    interrupt(testing)
    _, said = testing.communicate(timeout=30)
    assert testing.returncode == 130
    assert said == 'Interrupted.\n'
    assert (tmp_path / 'given-back').exists()


def test_tests_that_are_out_of_time_give_back_what_they_have(
        run_tests, tmp_path, monkeypatch):
    tox = tmp_path / 'tox'
    tox.write_text(STAND_IN.format(sys.executable))
    tox.chmod(0o755)
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr(run_tests.sys, 'executable', str(tmp_path / 'python'))

    def out_of_time(self, timeout=None):
        if timeout is None:
            return wait(self, 30)
        driver.until((tmp_path / 'started').exists, 'tox runs')
        raise subprocess.TimeoutExpired('tox', timeout)
    wait = subprocess.Popen.wait
    monkeypatch.setattr(subprocess.Popen, 'wait', out_of_time)
    assert run_tests.run('unit', 0) == 124
    assert (tmp_path / 'given-back').exists()


def test_zuuls_project_names_jobs_that_are_defined():
    project, = yaml.safe_load((ROOT / '.zuul.d/project.yaml').read_text())
    for pipeline in ('check', 'gate'):
        assert {*project['project'][pipeline]['jobs']} <= {*zuul()}


@pytest.mark.parametrize('key', ['run', 'post-run'])
def test_a_jobs_playbook_exists(key):
    for job in zuul().values():
        if key in job:
            assert (ROOT / job[key]).exists()
