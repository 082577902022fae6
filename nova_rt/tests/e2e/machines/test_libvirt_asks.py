# SPDX-License-Identifier: Apache-2.0
"""A libvirtd that asks who connects, as Kolla's does; of drivers it has libvirt's for tests."""

from collections.abc import Iterator
import os
import pathlib
import shlex
import shutil
import subprocess
import time

import libvirt
from oslo_config import cfg
import pytest

from nova_rt.testing import libvirt_answers
from nova_rt.virt import containers
from nova_rt.virt import kinds
from nova_rt.virt import machines
from stack import libvirt_files

PATIENCE_S = 20
_LIBVIRTD_CONF = """\
unix_sock_dir = "{0}"
auth_unix_ro = "sasl"
auth_unix_rw = "sasl"
"""
_SASL_CONF = """\
mech_list: scram-sha-256
sasldb_path: {0}/passwords
"""
_AUTH_CONF = """\
[credentials-default]
authname=nova
password=secret

[auth-libvirt-default]
credentials=default
"""


@pytest.fixture
def uri(tmp_path: pathlib.Path) -> Iterator[str]:
    """Run the libvirtd; yield its URI."""
    if os.geteuid() != 0:
        pytest.skip('needs root')
    if shutil.which('saslpasswd2') is None:
        pytest.skip("needs Debian's sasl2-bin")
    (tmp_path / 'libvirt.conf').write_text(_SASL_CONF.format(tmp_path))
    (tmp_path / 'libvirtd.conf').write_text(_LIBVIRTD_CONF.format(tmp_path))
    subprocess.run(['saslpasswd2', '-p', '-f', tmp_path / 'passwords', '-u', os.uname().nodename,
                    '-a', 'libvirt', 'nova'], input=b'secret', check=True)
    start = shlex.join(['/usr/sbin/libvirtd', '--config', str(tmp_path / 'libvirtd.conf'),
                        '--pid-file', str(tmp_path / 'pid')])
    with (tmp_path / 'log').open('wb') as log:
        process = subprocess.Popen(
            ['unshare', '--mount', '--propagation', 'private', 'sh', '-ec',
             f'mount -t tmpfs none /run; exec {start}'],
            stdout=log, stderr=subprocess.STDOUT,
            env={**os.environ, 'SASL_CONF_PATH': str(tmp_path),
                 'LIBVIRT_DRIVER_DIR': str(libvirt_files.link_drivers(tmp_path, []))})
    socket = tmp_path / 'libvirt-sock'
    try:
        end = time.monotonic() + PATIENCE_S
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail((tmp_path / 'log').read_text())
            time.sleep(0.05)
        yield f'test+unix:///default?socket={socket}'
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


@pytest.fixture
def answers(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let libvirt's client know the password."""
    libvirt_answers.give(monkeypatch, tmp_path, _AUTH_CONF)


@pytest.mark.usefixtures('answers')
def test_virtual_machines_are_found(uri: str) -> None:
    assert [domain.name() for domain in machines.connect(uri).listAllDomains()] == ['test']


@pytest.mark.usefixtures('answers')
def test_containers_are_found(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, 'uri', lambda _conf: uri)
    # None of its domains has metadata of ours.
    assert containers.described(cfg.ConfigOpts()) == []


def test_without_answers_one_sentence_says_what_is_missing(
        uri: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture) -> None:
    libvirt_answers.give(monkeypatch, tmp_path, '')
    with pytest.raises(machines.MonitorError, match='libvirt does not answer'):
        machines.connect(uri)
    assert 'which is not in its auth.conf' in caplog.text


def test_connections_without_kinds_of_answers_are_refused(uri: str, answers: None) -> None:
    """The control: whoever offers none is refused, whatever is in auth.conf."""
    with pytest.raises(libvirt.libvirtError, match='No worthy mechs'):
        libvirt.open(uri)
