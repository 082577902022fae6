# SPDX-License-Identifier: Apache-2.0
import os
import subprocess

import pytest

from nova_rt.virt.rt_init import program


@pytest.fixture
def built(monkeypatch, tmp_path):
    path = tmp_path / 'built'
    path.write_bytes(b'#!/bin/sh\necho it\n')
    path.chmod(0o755)
    monkeypatch.setattr(program, 'BUILT', path)
    return path


def test_it_is_put_where_libvirt_finds_it_ready_to_run(built, tmp_path):
    instances = str(tmp_path / 'instances')
    program.install(instances)
    ran = subprocess.run((program.on_host(instances),), capture_output=True)
    assert ran.stdout == b'it\n'


def test_what_containers_have_bound_is_replaced_only_by_another(
        built, tmp_path):
    program.install(str(tmp_path))
    path = program.on_host(str(tmp_path))
    first = path.stat().st_ino
    program.install(str(tmp_path))
    assert path.stat().st_ino == first
    bound = os.open(path, os.O_RDONLY)
    built.write_bytes(b'#!/bin/sh\necho other\n')
    program.install(str(tmp_path))
    assert path.stat().st_ino != first
    assert os.read(bound, 99) == b'#!/bin/sh\necho it\n'
    os.close(bound)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        'built', 'rt-init']


def test_where_nothing_may_be_executed_it_is_refused(built, tmp_path):
    built.chmod(0o644)
    with pytest.raises(PermissionError, match='cannot be executed'):
        program.install(str(tmp_path))


def test_the_kernel_calls_what_waits_by_its_name_in_a_container(
        built, tmp_path):
    path = tmp_path / program.INSIDE.lstrip('/')
    path.write_bytes(b'#!/bin/sh\ncat /proc/$$/comm\n')
    path.chmod(0o755)
    ran = subprocess.run((path,), capture_output=True, text=True)
    assert ran.stdout.strip() == program.COMM
