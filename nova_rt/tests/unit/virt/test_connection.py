# SPDX-License-Identifier: Apache-2.0
"""Connections to a libvirt that asks who connects; its test driver does, too."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import libvirt
from nova.virt.libvirt import host
from oslo_config import cfg
import pytest

from nova_rt.testing import libvirt_answers
from nova_rt.virt import connection
from nova_rt.virt import containers
from nova_rt.virt import machines

_NODE = """
<node>
  <domain type='test'>
    <name>one</name>
    <uuid>7d7c2e9b-41a5-4b0e-9b39-8f0f3a6f1c55</uuid>
    <memory>8192</memory>
    <os><type>hvm</type></os>
  </domain>
  <auth><user password='secret'>nova</user></auth>
</node>
"""
_ANSWERS = """
[credentials-nova]
username=nova
password=secret

[auth-test-localhost]
credentials=nova
"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """Return that of a libvirt to which only who knows the password may connect."""
    node = tmp_path / 'node.xml'
    node.write_text(_NODE)
    return f'test://{node}'


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let libvirt's client know the password, as Kolla does."""
    libvirt_answers.give(monkeypatch, tmp_path, _ANSWERS)


def _of_containers(uri: str) -> None:
    conf = cfg.ConfigOpts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(containers.kinds, 'uri', lambda _conf: uri)
        containers.described(conf)


@pytest.mark.parametrize('connect', [machines.connect, _of_containers])
def test_what_novas_driver_can_tell_ours_can(
        connect: Callable[[str], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A remote daemon chooses its mechanism by the kinds of answers that are offered."""
    offered: list[list[int]] = []

    def open_auth(_uri: str, auth: list[Any], _flags: int) -> libvirt.virConnect:
        offered.append(auth[0])
        return libvirt.open('test:///default')

    monkeypatch.setattr(libvirt, 'openAuth', open_auth)
    monkeypatch.setattr(host, 'libvirt', libvirt, raising=False)
    novas = host.Host('test:///default')
    monkeypatch.setattr(novas, '_libvirt_proxy', libvirt)
    novas._connect('test:///default', False)
    connect('test:///default')
    assert offered[1] == offered[0]


@pytest.mark.usefixtures('answers')
@pytest.mark.parametrize('read_only', [False, True])
def test_answers_are_those_of_the_host(uri: str, read_only: bool) -> None:
    opened = connection.connect(uri, read_only=read_only)
    assert [domain.name() for domain in opened.listAllDomains()] == ['one']


def test_without_answers_it_is_refused(
        uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('LIBVIRT_AUTH_FILE', str(tmp_path / 'none.conf'))
    with pytest.raises(libvirt.libvirtError):
        connection.connect(uri)
