# SPDX-License-Identifier: Apache-2.0
import contextlib
import importlib.util
import types

import pytest

from nova_rt.virt import host
from nova_rt.virt import prerequisites
from nova_rt.virt import user_namespaces
from nova_rt.virt.rt_init import program


@pytest.fixture(autouse=True)
def built(monkeypatch, tmp_path):
    path = tmp_path / 'rt-init'
    path.write_bytes(b'')
    monkeypatch.setattr(program, 'BUILT', path)
    return path


def options(**libvirt):
    return types.SimpleNamespace(libvirt=types.SimpleNamespace(
        **{'virt_type': 'lxc', 'uid_maps': [], 'gid_maps': [], **libvirt}))


def test_containers_without_user_namespaces_may_be_offered_reservations():
    prerequisites.check(options())


@pytest.mark.parametrize(('libvirt', 'advice'), [
    ({'virt_type': 'parallels'}, 'virt_type is parallels, .*: set it to one of these'),
    ({'uid_maps': ['0:1000:1']}, 'set both'),
    ({'gid_maps': ['0:1000:1']}, 'set both')])
def test_an_option_that_forbids_reservations_is_an_error_with_advice(
        libvirt, advice):
    with pytest.raises(host.UnavailableError, match=advice):
        prerequisites.check(options(**libvirt))


@pytest.mark.parametrize('sees_all', [True, False])
def test_user_namespaces_need_a_service_that_sees_the_containers_processes(
        monkeypatch, sees_all):
    monkeypatch.setattr(user_namespaces, 'sees_all_processes', lambda: sees_all)
    with contextlib.nullcontext() if sees_all else pytest.raises(
            host.UnavailableError, match="in the host's pid namespace"):
        prerequisites.check(options(uid_maps=['0:1000:1'], gid_maps=['0:1000:1']))


@pytest.mark.parametrize('virt_type', ['kvm', 'qemu'])
def test_virtual_machines_may_be_offered_reservations_without_rt_init(built, virt_type):
    built.unlink()
    prerequisites.check(options(virt_type=virt_type))


def test_a_libvirt_python_without_qemu_is_an_error_with_advice(monkeypatch):
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    with pytest.raises(host.UnavailableError, match='libvirt_qemu is missing: install'):
        prerequisites.check(options(virt_type='kvm'))


def test_an_installation_without_rt_init_is_an_error_with_advice(built):
    built.unlink()
    with pytest.raises(host.UnavailableError, match='install nova-rt again'):
        prerequisites.check(options())


def test_a_place_where_rt_init_cannot_be_executed_is_an_error_with_advice(
        built, tmp_path):
    built.chmod(0o644)
    place = types.SimpleNamespace(instances_path=str(tmp_path / 'instances'))
    with pytest.raises(host.UnavailableError, match='mounted without noexec'):
        prerequisites.install_rt_init(place)
