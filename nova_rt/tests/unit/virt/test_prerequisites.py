# SPDX-License-Identifier: Apache-2.0
import types

import pytest

from nova_rt.virt import host
from nova_rt.virt import prerequisites
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
    ({'virt_type': 'kvm'}, 'virt_type is kvm, .*: set it to lxc'),
    ({'uid_maps': ['0:1000:1']}, 'remove them'),
    ({'gid_maps': ['0:1000:1']}, 'remove them')])
def test_an_option_that_forbids_reservations_is_an_error_with_advice(
        libvirt, advice):
    with pytest.raises(host.UnavailableError, match=advice):
        prerequisites.check(options(**libvirt))


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
