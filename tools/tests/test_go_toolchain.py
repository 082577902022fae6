# SPDX-License-Identifier: Apache-2.0
"""tools/go-toolchain: which Go builds the Kubernetes driver, and where it comes from."""

import hashlib
import importlib.machinery
import importlib.util
import io
import pathlib
import platform
import re
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TOP = 'golang.org/toolchain@v0.0.1-go1.26.8.linux-amd64'


@pytest.fixture
def toolchain():
    loader = importlib.machinery.SourceFileLoader(
        'go_toolchain', str(ROOT / 'tools/go-toolchain'))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('go_toolchain', loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def served(toolchain, monkeypatch):
    """A proxy that has a toolchain of two files."""
    monkeypatch.setattr(platform, 'machine', lambda: 'x86_64')
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, 'w') as files:
        files.writestr(f'{TOP}/bin/go', '#!/bin/sh\necho go1.26.8\n')
        files.writestr(f'{TOP}/pkg/tool/linux_amd64/compile', '#!/bin/sh\n')
    text, asked = archive.getvalue(), []
    monkeypatch.setattr(toolchain.urllib.request, 'urlopen', lambda url, timeout: (
        asked.append(url), io.BytesIO(text))[1])
    monkeypatch.setitem(toolchain.PLATFORMS, 'x86_64', (
        'amd64', hashlib.sha256(text).hexdigest()))
    return asked


def program(path, text):
    path.write_text(f'#!/bin/sh\necho {text}\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(('version', 'suffices'), [
    ('go1.26', True), ('go1.26.8', True), ('go1.30rc1', True), ('go2.0', True),
    ('go1.24.4', False), ('go1.19.8', False), ('devel', False)])
def test_a_go_suffices_from_the_version_on_that_go_mod_has(toolchain, tmp_path, version, suffices):
    assert toolchain.installed(program(tmp_path / 'go', version)) is suffices


def test_what_is_no_go_does_not_suffice(toolchain, tmp_path):
    assert not toolchain.installed(str(tmp_path / 'go'))
    assert not toolchain.installed('/bin/false')


def test_go_is_fetched_once_and_can_be_executed(toolchain, served, tmp_path, monkeypatch):
    monkeypatch.setenv('GOPROXY', 'https://proxy.example/,direct')
    for _ in range(2):
        go = toolchain.fetch(tmp_path)
    assert served == ['https://proxy.example/golang.org/toolchain/@v/'
                      'v0.0.1-go1.26.8.linux-amd64.zip']
    assert toolchain.installed(str(go))
    assert (go.parents[1] / 'pkg/tool/linux_amd64/compile').stat().st_mode & 0o111
    assert [path.name for path in tmp_path.iterdir()] == ['go-1.26.8']


def test_a_go_with_another_checksum_is_not_kept(toolchain, served, tmp_path, monkeypatch):
    monkeypatch.setenv('GOPROXY', 'https://proxy.example')
    monkeypatch.setitem(toolchain.PLATFORMS, 'x86_64', ('amd64', '0' * 64))
    with pytest.raises(toolchain.ToolchainError, match='do not trust it'):
        toolchain.fetch(tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_machine_without_a_known_go_gets_a_sentence(toolchain, tmp_path, monkeypatch):
    monkeypatch.setattr(platform, 'machine', lambda: 'riscv64')
    with pytest.raises(toolchain.ToolchainError, match=r'install Go 1\.26 or newer'):
        toolchain.fetch(tmp_path)


def test_without_go_and_proxy_there_is_a_sentence(toolchain, tmp_path, monkeypatch):
    monkeypatch.delenv('GOPROXY', raising=False)
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(toolchain.ToolchainError, match='set GOPROXY'):
        toolchain.fetch(tmp_path / 'cache')


@pytest.mark.parametrize('folder', [
    'kubernetes', 'kubernetes/controlplane', 'kubernetes/worker/kubelet'])
def test_the_version_is_that_of_go_mod(toolchain, folder):
    wanted = re.search(r'^go (\d+)\.(\d+)', (ROOT / folder / 'go.mod').read_text(), re.MULTILINE)
    assert tuple(map(int, wanted.groups())) == toolchain.NEEDED
