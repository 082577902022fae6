# SPDX-License-Identifier: Apache-2.0
"""The Makefile and tools/prepare, with stand-ins for the programs that they call."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


class Tree:
    """A checkout with Makefile, tools/prepare and stand-ins for programs."""

    def __init__(self, path):
        self.path = path
        self.calls = path / 'calls'
        self.policy = path / 'policy-rc.d'
        (path / 'tools').mkdir()
        shutil.copy(ROOT / 'Makefile', path)
        text = (ROOT / 'tools/prepare').read_text()
        self.program('tools/prepare', text.replace(
            '/usr/sbin/policy-rc.d', str(self.policy)).replace(
            '/usr/bin/python3', str(path / 'bin/python')))
        shutil.copy(ROOT / 'tools/libvirt-python', path / 'tools')
        shutil.copy(ROOT / 'tools/stage', path / 'tools')
        # Of Python, it runs nothing but our programs.
        self.program('bin/python', '#!/bin/sh\ncase $1 in tools/*)\n'
                     f'exec {sys.executable} "$@";; esac\n')
        self.program('bin/pkg-config', '#!/bin/sh\necho 9.0.0\n')
        self.program('.venv/bin/tox')
        self.program('.venv/bin/bindep')
        self.program('.venv/bin/junitparser')

    def program(self, name, text='#!/bin/sh\n'):
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def run(self, *command):
        return subprocess.run(
            command, cwd=self.path, capture_output=True, text=True,
            timeout=60, env={
                'HOME': str(self.path), 'PYTHON': str(self.path / 'bin/python'),
                'PATH': f'{self.path}/bin:{os.environ["PATH"]}'})

    def become(self, number):
        self.program('bin/id', f'#!/bin/sh\necho {number}\n')


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@pytest.fixture
def installing(tree):
    """As root, on a machine without a package that brings a service."""
    tree.become(0)
    tree.program('.venv/bin/bindep', '#!/bin/sh\necho service\n')
    tree.program('bin/apt-get', '#!/bin/sh\n'
                 f'"{tree.policy}"; echo "$? $*" > "{tree.calls}"\n')
    return tree


def test_no_service_of_an_installed_package_is_started(installing):
    assert installing.run('tools/prepare').returncode == 0
    status, _, rest = installing.calls.read_text().partition(' ')
    assert status == '101'
    assert rest.endswith('service\n')
    assert not installing.policy.exists()


@pytest.mark.parametrize(('status', 'packages'), [(1, 'golang-go'), (0, '')])
def test_go_is_installed_where_kubernetes_is_tested_and_none_is_found(tree, status, packages):
    tree.become(0)
    tree.program('tools/go-toolchain', f'raise SystemExit({status})\n')
    tree.program('.venv/bin/bindep',
                 '#!/bin/sh\ncase " $* " in *" go "*) echo golang-go;; esac\n')
    tree.program('bin/apt-get', f'#!/bin/sh\necho "$@" > "{tree.calls}"\n')
    for profiles, wanted in (('stack', ''), ('kubernetes', packages)):
        tree.calls.write_text('')
        assert tree.run('tools/prepare', profiles).returncode == 0
        assert tree.calls.read_text().partition('recommends ')[2].strip() == wanted


def test_a_machines_own_policy_on_services_is_left_as_it_is(installing):
    own = '#!/bin/sh\nexit 104\n'
    installing.program('policy-rc.d', own)
    assert installing.run('tools/prepare').returncode == 0
    assert installing.calls.read_text().startswith('104 ')
    assert installing.policy.read_text() == own


def test_the_checkout_of_another_user_is_trusted_once(tree):
    tree.become(tree.path.stat().st_uid + 1)
    for _ in range(2):
        assert tree.run('tools/prepare').returncode == 0
    assert tree.run('git', 'config', '--global', '--get-all',
                    'safe.directory').stdout == f'{tree.path}\n'


def test_git_needs_no_configuration_for_ones_own_checkout(tree):
    tree.become(tree.path.stat().st_uid)
    assert tree.run('tools/prepare').returncode == 0
    assert not (tree.path / '.gitconfig').exists()


@pytest.mark.parametrize(('user', 'mode', 'profiles'), [
    (0, 'auto', ['stack']), (0, 'vm', ['stack']), (0, 'real', ['stack']), (0, 'embedded', []),
    (0, 'hcbs', ['stack', 'guest']), (1000, 'auto', [])])
def test_the_demo_needs_no_services_where_it_is_embedded(
        tree, user, mode, profiles):
    tree.become(user)
    tree.program('tools/prepare', f'#!/bin/sh\necho "$@" > "{tree.calls}"\n')
    assert tree.run('make', 'demo', f'MODE={mode}').returncode == 0
    assert tree.calls.read_text().split() == profiles


def test_no_wheel_is_left_of_those_built_before(tree):
    old = tree.path / 'dist' / 'nova_rt-0.1-py3-none-any.whl'
    old.parent.mkdir()
    old.touch()
    assert tree.run('make', 'dist').returncode == 0
    assert not old.exists()


@pytest.fixture
def running(tree):
    """Records of two stacks that run in the tree."""
    sites = [tree.path / 'run' / name / 'site.json' for name in 'ab']
    for site in sites:
        site.parent.mkdir(parents=True)
        site.touch()
    return sites


def test_clean_keeps_the_record_of_a_stack_that_does_not_stop(tree, running):
    tree.program('.tox/nova/bin/python',
                 '#!/bin/sh\n[ "$4" != run/a ]\n')
    assert tree.run('make', 'clean').returncode
    assert all(site.exists() for site in running)


def test_clean_says_what_is_missing_to_stop_a_stack(tree, running):
    done = tree.run('make', 'clean')
    assert done.returncode
    assert 'run/a is stopped by .tox/nova, which is missing' in done.stderr
    assert all(site.exists() for site in running)


def test_clean_stops_what_runs_and_removes_the_rest(tree, running):
    tree.program('.tox/nova/bin/python',
                 f'#!/bin/sh\necho "$*" >> "{tree.calls}"\n')
    assert tree.run('make', 'clean').returncode == 0
    assert [line.split()[-2:] for line in tree.calls.read_text().splitlines()
            ] == [['run/a', 'down'], ['run/b', 'down']]
    assert not (tree.path / 'run').exists()


def test_clean_needs_nothing_where_nothing_runs(tree):
    assert tree.run('make', 'clean').returncode == 0


def test_a_package_that_an_older_environment_lacks_is_installed(tree):
    (tree.path / '.venv/bin/junitparser').unlink()
    tree.program('.venv/bin/pip', f'#!/bin/sh\necho "$*" > "{tree.calls}"\n')
    assert tree.run('tools/prepare').returncode == 0
    assert 'junitparser' in tree.calls.read_text()


def test_nothing_else_runs_if_tox_cannot_be_installed(tree):
    (tree.path / '.venv/bin/tox').unlink()
    tree.program('.venv/bin/pip', '#!/bin/sh\necho "ERROR: no index" >&2\nexit 1\n')
    done = tree.run('make', 'unit')
    assert done.returncode
    ours = [line for line in done.stderr.splitlines() if not line.startswith('make:')]
    assert ours == ['tools/prepare: creating .venv with tox', 'ERROR: no index',
                    'tools/prepare: pip could not install tox into .venv: it says why above']


def test_the_bindings_fit_the_libvirt_that_is_installed(tree):
    tree.program('bin/pkg-config', '#!/bin/sh\necho 11.3.0\n')
    assert tree.run('tools/prepare').returncode == 0
    assert (tree.path / '.venv/libvirt-python.txt').read_text() == (
        'libvirt-python==11.3.0\n')


def test_debians_python_is_installed_where_there_is_none(tree):
    python = tree.path / 'bin/python'
    tree.become(0)
    tree.program('bin/apt-get', f'#!/bin/sh\necho "$*" >> "{tree.calls}"\n'
                 f'mv "{python}.later" "{python}"\n')
    python.rename(f'{python}.later')
    assert tree.run('tools/prepare').returncode == 0
    assert tree.calls.read_text().endswith(' python3-venv\n')


@pytest.mark.parametrize('python', ['#!/bin/sh\nexit 1\n', None])
def test_a_python_that_does_not_do_is_refused_in_one_sentence(tree, python):
    if python is not None:
        tree.program('bin/other', python)
    done = tree.run('env', f'PYTHON={tree.path}/bin/other', 'tools/prepare')
    assert done.returncode
    assert done.stderr.count('\n') == 1
    assert 'bin/other is missing or older than Python 3.11' in done.stderr


def test_missing_headers_of_libvirt_stop_make_with_one_sentence(tree):
    tree.program('bin/pkg-config', '#!/bin/sh\nexit 1\n')
    done = tree.run('make', 'unit')
    assert done.returncode
    assert not tree.calls.exists()
    ours = [line for line in done.stderr.splitlines() if not line.startswith('make:')]
    assert len(ours) == 1
    assert 'install its headers' in ours[0]


# As pip and tox report a package that cannot be built.
UNBUILT = """#!/bin/sh
echo "$*" >> calls
[ "$3" != nova ] || {
    echo 'error: subprocess-exited-with-error'
    echo '  gcc: libvirt-override.c: much text'
    echo 'ERROR: Failed to build wheel for libvirt-python'
    echo '  nova: FAIL code 1'
    exit 1
}
"""


def test_nothing_runs_after_packages_that_cannot_be_installed(tree):
    tree.program('.venv/bin/tox', UNBUILT)
    done = tree.run('tools/stage', '-q', 'demo', '--mode', 'auto')
    assert done.returncode
    assert tree.calls.read_text() == 'run -e nova\n'
    assert done.stderr.splitlines()[-1] == (
        'tools/stage: the packages of .tox/nova could not be installed (Failed to '
        'build wheel for libvirt-python): see .tox/nova.log.')
    assert 'much text' not in done.stdout + done.stderr
    assert 'much text' in (tree.path / '.tox/nova.log').read_text()


@pytest.mark.parametrize(('arguments', 'call'), [
    (['unit'], 'run -e unit'),
    (['-q', 'demo', '--mode', 'hcbs'], 'run -qq -e demo -- --mode hcbs'),
    (['unit', 'a b'], 'run -e unit -- a b')])
def test_a_stage_takes_its_own_arguments_unless_some_are_given(tree, arguments, call):
    tree.program('.venv/bin/tox', '#!/bin/sh\necho "$*" >> calls\n')
    assert tree.run('tools/stage', *arguments).returncode == 0
    assert tree.calls.read_text().splitlines() == ['run -e nova', call]


@pytest.mark.parametrize(('full', 'releases'), [
    ('', ['trixie']), ('1', ['trixie', 'bookworm'])])
def test_the_demo_is_run_on_fresh_releases_until_one_fails(tree, full, releases):
    demo = 'make demo MODE=vm'
    tree.program('tools/fresh-root', '#!/bin/sh\necho "$*" >> calls\n[ $1 = trixie ]\n')
    done = tree.run('make', 'test-fresh', 'MODE=vm', f'FULL={full}')
    assert (done.returncode == 0) == (releases[-1] == 'trixie')
    assert tree.calls.read_text().splitlines() == [f'{name} {demo}' for name in releases]
