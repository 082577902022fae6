# SPDX-License-Identifier: Apache-2.0
"""kernel/guest/bootstrap, with a stand-in for mmdebstrap: which Debian a node has."""

import hashlib
import os
import pathlib
import subprocess

import pytest

BOOTSTRAP = pathlib.Path(__file__).parents[2] / 'kernel/guest/bootstrap'
# Makes an empty archive, and notes which Debian it was to be.
MMDEBSTRAP = """#!/bin/sh
for argument; do
    suite=$archive archive=$argument
done
echo "$suite" >> "$(dirname "$0")/made"
tar cf "$archive" -T /dev/null
"""


def run(folder, script):
    """Run a script that sources bootstrap; return what it prints."""
    program = folder / 'mmdebstrap'
    program.write_text(MMDEBSTRAP)
    program.chmod(0o755)
    return subprocess.run(
        ('bash', '-euc', f'say() {{ :; }}; . {BOOTSTRAP}; {script}'), check=True, text=True,
        stdout=subprocess.PIPE, cwd=folder,
        env={'PATH': f'{folder}:{os.environ["PATH"]}'}).stdout


@pytest.mark.parametrize(('line', 'release'), [
    ('VERSION_CODENAME=trixie', 'trixie'), ('VERSION_ID="13"', '')])
def test_the_release_is_what_os_release_says(tmp_path, line, release):
    (tmp_path / 'os-release').write_text(f'NAME="Debian GNU/Linux"\n{line}\nID=debian\n')
    assert run(tmp_path, 'release_in os-release').strip() == release


@pytest.mark.parametrize(('setting', 'suite'), [
    ('', 'bookworm'), ('release=', 'bookworm'), ('release=trixie', 'trixie')])
def test_debian_12_is_made_unless_another_is_named(tmp_path, setting, suite):
    run(tmp_path, f'{setting}\nbootstrap cached root udev')
    assert (tmp_path / 'made').read_text() == f'{suite}\n'


def test_a_machine_that_was_upgraded_does_not_take_the_old_debian(tmp_path):
    for number, release in enumerate(('bookworm', 'trixie', 'trixie')):
        run(tmp_path, f'release={release}\nbootstrap cached root-{number} udev')
    assert (tmp_path / 'made').read_text() == 'bookworm\ntrixie\n'


def test_archives_of_debian_12_keep_their_names(tmp_path):
    options = run(tmp_path, 'release=bookworm\nbootstrap cached root udev kmod\n'
                            'echo "${bootstrap_options[*]}"').strip()
    key = hashlib.sha256(f'udev kmod {options}\n'.encode()).hexdigest()[:16]
    assert (tmp_path / f'cached-{key}.tar').exists()
