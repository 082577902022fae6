# SPDX-License-Identifier: Apache-2.0
"""tools/run-tests: background builds of kernels, interruption, running out of time, counts."""

import collections
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import junitparser
import pytest

ROOT = pathlib.Path(__file__).parents[2]


def until(condition, what):
    """Wait until a condition holds.

    :raises TimeoutError: if it does not hold within a minute.
    """
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f'Not within a minute: {what}')
        time.sleep(0.1)


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
    """Path of the file in which a stand-in for kernel/build notes its calls."""
    build = tmp_path / 'kernel' / 'build'
    build.parent.mkdir()
    build.write_text('#!/bin/sh\n'
                     'echo "$1 $$ $(cat /proc/self/autogroup)" >> built\n'
                     '[ "$1" != stock ] || exec sleep 1000\n')
    build.chmod(0o755)
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    return tmp_path / 'built'


@pytest.mark.skipif(not pathlib.Path('/proc/self/autogroup').exists(),
                    reason='the kernel has no autogroup')
def test_kernels_are_built_with_a_small_share_until_the_tests_end(run_tests, built):
    with run_tests.kernels_built(['pep8', 'kernel', 'guest']):
        until(lambda: built.exists() and 'stock' in built.read_text(),
              'the last is being built')
        lines = [line.split() for line in built.read_text().splitlines()]
    assert [line[0] for line in lines] == ['hcbs', 'stock']
    assert {line[-1] for line in lines} == {'5'}
    until(lambda: not pathlib.Path('/proc', lines[-1][1]).exists(),
          'the build has ended')


def test_more_time_is_needed_while_a_kernel_is_still_being_built(run_tests, built):
    with run_tests.kernels_built(['kernel']) as is_building:
        until(lambda: built.exists() and 'stock' in built.read_text(), 'it is being built')
        assert is_building()
        assert run_tests.needed('guest', is_building) == (12 + 15) * 60
        assert run_tests.needed('experiments', is_building) == (6 + 15) * 60
        assert run_tests.needed('unit', is_building) == 0
    assert not is_building()
    assert run_tests.needed('guest', is_building) == 12 * 60


def test_what_has_too_little_time_left_is_skipped_and_what_has_enough_is_run(
        run_tests, tmp_path, monkeypatch, capsys):
    for folder in ('JUNIT', 'LOGS'):
        monkeypatch.setattr(run_tests, folder, tmp_path)

    class Noting:
        def __init__(self):
            self.ran = []

        def run(self, env):
            self.ran.append(env)
            return 0
    environments, results = Noting(), run_tests.Results()
    run_tests.run_lane(['mano', 'db', 'docs'], environments, results,
                       time.monotonic() + 11 * 60, lambda: False)
    assert environments.ran == ['db', 'docs']
    assert results.show() == 0
    assert 'skipped 1: mano: too little left of 80 minutes' in capsys.readouterr().out


def test_no_kernel_is_built_that_no_environment_needs(run_tests, built):
    with run_tests.kernels_built(['pep8', 'unit']):
        pass
    assert not built.exists()


@pytest.fixture
def testing(tmp_path):
    """tools/run-tests while it runs, with a stand-in for tox that cleans up."""
    tools, programs = tmp_path / 'tools', tmp_path / 'bin'
    for folder in (tools, programs):
        folder.mkdir()
    shutil.copy(ROOT / 'tools/run-tests', tools)
    (programs / 'python').symlink_to(sys.executable)
    (programs / 'tox').write_text(STAND_IN.format(sys.executable))
    (programs / 'tox').chmod(0o755)
    process = subprocess.Popen(
        (programs / 'python', tools / 'run-tests', 'unit'), cwd=tmp_path,
        # The link is not in the virtual environment, so its packages are not found.
        env={**os.environ, 'PYTHONPATH': str(
            pathlib.Path(junitparser.__file__).parents[1])},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True)
    until((tmp_path / 'started').exists, 'tox runs')
    yield process
    process.kill()
    process.communicate()


STAND_IN = """#!{}
import pathlib, signal, time

def clean_up(number, frame):
    time.sleep(1)  # longer than Popen.wait() waits after Ctrl-C
    pathlib.Path('cleaned-up').touch()
    raise SystemExit(1)

signal.signal(signal.SIGINT, clean_up)
pathlib.Path('started').touch()
time.sleep(60)
"""


@pytest.mark.parametrize('interrupt', [
    lambda process: process.terminate(),
    lambda process: os.killpg(process.pid, signal.SIGINT),
    lambda process: process.send_signal(signal.SIGINT)],
    ids=['as CI cancels it', 'with Ctrl-C', 'by its number alone'])
def test_interrupted_tests_have_cleaned_up_before_the_status_is_130(
        testing, tmp_path, interrupt):
    interrupt(testing)
    _, errors = testing.communicate(timeout=30)
    assert testing.returncode == 130
    assert errors == 'Interrupted.\n'
    assert (tmp_path / 'cleaned-up').exists()


def test_tests_that_are_out_of_time_clean_up(
        run_tests, tmp_path, monkeypatch):
    tox = tmp_path / 'tox'
    tox.write_text(STAND_IN.format(sys.executable))
    tox.chmod(0o755)
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr(run_tests.sys, 'executable', str(tmp_path / 'python'))

    def out_of_time(self, timeout=None):
        if timeout is None:
            return wait(self, 30)
        until((tmp_path / 'started').exists, 'tox runs')
        raise subprocess.TimeoutExpired('tox', timeout)
    wait = subprocess.Popen.wait
    monkeypatch.setattr(subprocess.Popen, 'wait', out_of_time)
    monkeypatch.setattr(run_tests, 'LOGS', tmp_path / 'log')
    assert run_tests.Environments(0).run('unit') == 124
    assert (tmp_path / 'cleaned-up').exists()


TAKES_TURNS = """#!{}
import pathlib, sys, time

env = sys.argv[-1]
journal = pathlib.Path('journal')
with journal.open('a') as file:
    print('+', env, file=file)
print('the output of', env)
time.sleep(1)
with journal.open('a') as file:
    print('-', env, file=file)
raise SystemExit(env == 'mano')
"""


def test_stacks_take_turns_beside_all_others(run_tests, tmp_path, monkeypatch, capsys):
    tox = tmp_path / 'tox'
    tox.write_text(TAKES_TURNS.format(sys.executable))
    tox.chmod(0o755)
    monkeypatch.setattr(run_tests, 'ROOT', tmp_path)
    monkeypatch.setattr(run_tests, 'JUNIT', tmp_path / 'junit')
    monkeypatch.setattr(run_tests, 'LOGS', tmp_path / 'log')
    monkeypatch.setattr(run_tests.sys, 'executable', str(tmp_path / 'python'))
    assert run_tests.main(['unit', 'e2e', 'functional', 'mano'], lambda: False) == 1
    events = (tmp_path / 'journal').read_text().splitlines()
    assert events[:2] == ['+ nova', '- nova']
    assert {*events[2:4]} == {'+ unit', '+ e2e'}
    for first, second in (('e2e', 'mano'), ('unit', 'functional')):
        assert events.index(f'- {first}') < events.index(f'+ {second}')
    output = capsys.readouterr().out
    for env in ('unit', 'e2e', 'functional', 'mano'):
        assert output.count(f'\nthe output of {env}\n') == 1
    assert output.endswith('\nfailed: mano: the output of mano\n3 passed, 1 failed, 0 skipped\n')


def test_the_slowest_tests_are_named(run_tests, tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, 'JUNIT', tmp_path)
    monkeypatch.setattr(run_tests, 'SLOWEST', 2)
    (tmp_path / 'unit.xml').write_text('<testsuite name="pytest">' + ''.join(
        f'<testcase name="{name}" time="{seconds}"/>'
        for name, seconds in (('a', 1.25), ('b', 70), ('c', 0.5), ('d', 2))) +
        '</testsuite>')
    assert [line.split() for line in run_tests.slowest('unit')] == [
        ['70.0', 's', 'b'], ['2.0', 's', 'd']]
    assert run_tests.slowest('pep8') == []


def test_a_test_that_was_tried_twice_counts_once_by_its_last_try(
        run_tests, tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, 'JUNIT', tmp_path)
    (tmp_path / 'e2e.xml').write_text(
        '<testsuite name="pytest"><testcase classname="a" name="one"/>'
        '<testcase classname="a" name="two"/><testcase classname="b" name="one"/>'
        '<testcase classname="a" name="one"><failure message="no"/></testcase></testsuite>')
    assert run_tests.count('e2e', 1, collections.Counter()) == {'passed': 2, 'failed': 1}


def test_what_failed_and_what_was_tried_twice_is_named(run_tests, tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, 'JUNIT', tmp_path)
    monkeypatch.setattr(run_tests, 'LOGS', tmp_path)
    (tmp_path / 'e2e.xml').write_text(RESULTS.replace('"no"', '"no&#10;more"'))
    (tmp_path / 'e2e.log').write_text('PASSED\nRERUN tests/test_it.py::test_this\n')
    assert list(run_tests.troubles('e2e', 1)) == [
        'failed: e2e: fails: no', 'failed: e2e: breaks: no',
        'failed: e2e: fails at its end: no',
        'tried twice: e2e: tests/test_it.py::test_this']
    assert list(run_tests.troubles('pep8', 0)) == []


def test_of_an_environment_without_results_the_last_lines_are_shown(
        run_tests, tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, 'JUNIT', tmp_path)
    monkeypatch.setattr(run_tests, 'LOGS', tmp_path)
    (tmp_path / 'mypy.log').write_text('a.py:1: error: wrong\nmypy: exit 1\n')
    assert list(run_tests.troubles('mypy', 1)) == [
        'failed: mypy: a.py:1: error: wrong', 'failed: mypy: mypy: exit 1']
    assert list(run_tests.troubles('mypy', 0)) == []


def test_of_a_traceback_that_pytest_does_not_understand_the_error_is_shown(run_tests):
    def gist(message, text=None):
        failure = junitparser.Failure(message)
        failure.text = text
        return run_tests.gist(failure)
    # The message is cut; the whole is in the text.
    native = f'Failed: {run_tests.NATIVE}, displaying natively:\n\n[+9 more lines]'
    traceback = 'Traceback (most recent call last):\n  raise x\nx.Error: It broke:\n[]\n'
    assert gist(native, traceback) == 'x.Error: It broke: []'
    assert gist(native) == native.partition('\n')[0]
    assert gist('AssertionError: no\nmore', 'def test():\n...') == 'AssertionError: no'
    assert gist('') == ''


RESULTS = """<testsuites><testsuite name="pytest">
<testcase name="passes"/>
<testcase name="fails"><failure message="no"/></testcase>
<testcase name="breaks"><error message="no"/></testcase>
<testcase name="skips"><skipped message="No root."/></testcase>
<testcase name="fails at its end"><skipped message="-"/><error message="no"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def counted(run_tests, tmp_path, monkeypatch):
    """Counts and reasons of an environment that left this JUnit file, if any."""
    def count(status, results=None):
        monkeypatch.setattr(run_tests, 'JUNIT', tmp_path)
        if results:
            (tmp_path / 'unit.xml').write_text(results)
        reasons = run_tests.Counter()
        return run_tests.count('unit', status, reasons), reasons
    return count


def test_the_results_of_tests_are_counted(counted):
    assert counted(1, RESULTS) == (
        {'passed': 1, 'failed': 3, 'skipped': 1}, {'unit: No root.': 1})


def test_results_without_an_outer_element_are_counted(counted):
    results = '<testsuite name="kernel"><testcase name="passes"/></testsuite>'
    assert counted(0, results) == ({'passed': 1}, {})


def test_a_failure_of_pytest_itself_is_counted(counted):
    results = '<testsuite name="pytest"><testcase name="passes"/></testsuite>'
    assert counted(2, results) == ({'passed': 1, 'failed': 1}, {})


@pytest.mark.parametrize(('status', 'outcome'), [(0, 'passed'), (1, 'failed')])
def test_an_environment_without_results_is_one_test(counted, status, outcome):
    assert counted(status) == ({outcome: 1}, {})
