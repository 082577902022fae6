# SPDX-License-Identifier: Apache-2.0
"""tools/libvirt-python: which bindings fit which libvirt."""

import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).parents[1] / 'libvirt-python'


@pytest.fixture
def libvirt_python():
    loader = importlib.machinery.SourceFileLoader('libvirt_python', str(PROGRAM))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('libvirt_python', loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(('libvirt', 'bindings'), [
    ('9.0.0', '9.0.0'),    # Debian 12
    ('10.0.0', '10.0.0'),  # Ubuntu 24.04
    ('11.3.0', '11.3.0'),  # Debian 13
    ('10.10.3', '10.10.0'), ('9.7', '9.7.0'), ('12.0.0', '12.0.0')])
def test_the_bindings_have_the_release_of_libvirt(libvirt_python, libvirt, bindings):
    assert libvirt_python.requirement(libvirt) == f'libvirt-python=={bindings}'


@pytest.mark.parametrize('libvirt', ['8.10.0', '0.9.11', '1.0'])
def test_a_libvirt_that_is_too_old_is_refused(libvirt_python, libvirt):
    with pytest.raises(libvirt_python.LibvirtError, match='too old: install 9'):
        libvirt_python.requirement(libvirt)


@pytest.mark.parametrize('libvirt', ['', 'none', '11', '11.x', '11.3beta'])
def test_what_is_no_version_is_refused(libvirt_python, libvirt):
    with pytest.raises(libvirt_python.LibvirtError, match='not a version'):
        libvirt_python.requirement(libvirt)


def run(tmp_path, pkg_config=None):
    """Run the program with a stand-in for pkg-config, or without one."""
    programs = tmp_path / 'bin'
    programs.mkdir(exist_ok=True)
    if pkg_config is not None:
        (programs / 'pkg-config').write_text(f'#!/bin/sh\n{pkg_config}\n')
        (programs / 'pkg-config').chmod(0o755)
    return subprocess.run(
        (sys.executable, PROGRAM, tmp_path / 'file'), capture_output=True, text=True,
        env={**os.environ, 'PATH': str(programs)})


@pytest.mark.parametrize('pkg_config', [None, 'exit 1', 'echo nothing', 'echo 7.0.0'])
def test_a_machine_without_a_libvirt_that_fits_gets_one_sentence(tmp_path, pkg_config):
    done = run(tmp_path, pkg_config)
    assert done.returncode
    assert done.stderr.count('\n') == 1
    assert done.stderr.startswith('tools/libvirt-python: ')
    assert not (tmp_path / 'file').exists()


def test_the_file_is_written_again_only_if_it_changes(tmp_path):
    assert run(tmp_path, 'echo 11.3.0').returncode == 0
    file = tmp_path / 'file'
    os.utime(file, (1, 1))
    assert run(tmp_path, 'echo 11.3.0').returncode == 0
    assert file.stat().st_mtime == 1
    assert run(tmp_path, 'echo 11.4.0').returncode == 0
    assert file.read_text() == 'libvirt-python==11.4.0\n'
