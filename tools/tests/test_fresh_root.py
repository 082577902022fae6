# SPDX-License-Identifier: Apache-2.0
"""tools/fresh-root, with stand-ins for the programs that need root."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from stack import admission

ROOT = pathlib.Path(__file__).parents[2]
# In place of the namespace: writes the root file system and what its clone has, fails.
ENTERED = """#!/bin/sh
for root; do
    [ ! -d "$root/root/nova-rt" ] || break
done
echo "$root" > roots
git -C "$root/root/nova-rt" log -1 --format=%s >> clones
exit 3
"""
# Runs what is to run in the namespaces outside of them, with stand-ins for what changes them.
OUTSIDE = """#!/bin/sh
while [ "$1" != sh ]; do
    shift
done
exec "$@"
"""
NOTED = """#!/bin/sh
echo "$(basename "$0") $*" >> "$(dirname "$0")/../noted"
"""
MMDEBSTRAP = """#!/bin/sh
for archive; do :; done
echo "$*" >> made
mkdir -p new/etc new/usr/local/share
tar cf "$archive" -C new .
"""


class Tree:
    """A repository with tools/fresh-root, and stand-ins for programs."""

    def __init__(self, path):
        self.path = path
        for name in ('tools/fresh-root', 'kernel/packages', 'kernel/guest/bootstrap'):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path / name)
        self.program('id', '#!/bin/sh\necho 0\n')
        self.program('dpkg', '#!/bin/sh\n')
        self.program('chroot', '#!/bin/sh\necho "$2" >> chroots\n')
        self.program('mmdebstrap', MMDEBSTRAP)
        self.program('unshare', ENTERED)
        self.git('init', '-q')
        self.commit('one')

    def program(self, name, text):
        file = self.path / 'bin' / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def git(self, *arguments):
        subprocess.run(('git', '-c', 'user.name=A', '-c', 'user.email=a@b.example',
                        *arguments), cwd=self.path, check=True)

    def commit(self, subject):
        self.git('commit', '-q', '--allow-empty', '-m', subject)

    def run(self, *arguments, **environment):
        return subprocess.run(
            ('tools/fresh-root', *arguments), cwd=self.path, capture_output=True,
            text=True, env={
                'HOME': str(self.path), 'TMPDIR': str(self.path), **environment,
                'PATH': f'{self.path}/bin:{os.environ["PATH"]}'})

    def lines(self, name):
        return (self.path / name).read_text().splitlines()


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@pytest.mark.parametrize(('arguments', 'sentence'), [
    ((), 'usage: tools/fresh-root RELEASE COMMAND'),
    (('trixie',), 'usage: tools/fresh-root RELEASE COMMAND'),
    (('noble', 'true'), 'there is no Debian noble here: take bookworm or trixie')])
def test_what_cannot_be_run_is_refused_in_one_sentence(tree, arguments, sentence):
    done = tree.run(*arguments)
    assert done.returncode
    assert done.stderr.count('\n') == 1
    assert sentence in done.stderr
    assert not (tree.path / 'made').exists()


def test_a_user_is_refused_in_one_sentence(tree):
    tree.program('id', '#!/bin/sh\necho 1000\n')
    done = tree.run('trixie', 'true')
    assert done.returncode
    assert done.stderr == 'tools/fresh-root: run this as root: it mounts and changes its root\n'


def test_a_command_runs_in_a_clone_on_the_debian_that_was_named(tree):
    done = tree.run('trixie', 'make', 'it')
    assert done.returncode == 3
    assert re.search(r'"make it" took \d+ s on trixie and exited with 3$', done.stderr.strip())
    debian, = tree.lines('made')
    assert ' trixie ' in debian
    assert tree.lines('clones') == ['one']
    assert tree.lines('chroots') == ['update-ca-certificates']


def test_the_debian_is_new_each_time_and_removed_afterwards(tree):
    roots = []
    for _ in range(2):
        tree.run('bookworm', 'true')
        roots += tree.lines('roots')
    assert roots[0] != roots[1]
    assert not any(pathlib.Path(root).exists() for root in roots)
    assert len(tree.lines('made')) == 1  # the archive is kept


def test_a_debian_that_is_kept_follows_this_checkout(tree):
    for subject in ('two', 'three'):
        tree.commit(subject)
        tree.run('trixie', 'true', FRESH_ROOT=str(tree.path / 'kept'))
    assert tree.lines('clones') == ['two', 'three']
    assert (tree.path / 'kept/root/nova-rt').exists()


def test_the_sysctls_lock_is_the_machines_as_the_sysctl_is(tree):
    tree.program('unshare', OUTSIDE)
    for name in ('mount', 'umount', 'pivot_root', 'touch'):
        tree.program(name, NOTED)
    kept = tree.path / 'kept'
    tree.run('trixie', 'true', FRESH_ROOT=str(kept))
    bound = f'mount --bind {admission.LOCK} {kept}{admission.LOCK}'
    assert bound in tree.lines('noted')
