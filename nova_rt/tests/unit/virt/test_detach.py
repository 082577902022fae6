# SPDX-License-Identifier: Apache-2.0
import types
from unittest import mock

from nova.virt.libvirt import driver as nova_driver
import pytest

from nova_rt.virt import driver

CONF = nova_driver.CONF
DEVICE = types.SimpleNamespace(alias=None)


@pytest.fixture
def ours(monkeypatch):
    monkeypatch.setattr(driver.RTLibvirtDriver, '_detach_sync', mock.Mock())
    return driver.RTLibvirtDriver.__new__(driver.RTLibvirtDriver)


def detach(ours):
    ours._detach_from_live_and_wait_for_event(
        DEVICE, mock.sentinel.guest, 'uuid', 'tap0')


@pytest.fixture
def virt_type():
    def be(value):
        CONF.set_override('virt_type', value, group='libvirt')
    yield be
    CONF.clear_override('virt_type', group='libvirt')


def test_a_container_loses_a_device_without_alias_and_without_event(
        ours, virt_type):
    virt_type('lxc')
    detach(ours)
    ours._detach_sync.assert_called_once_with(
        DEVICE, mock.sentinel.guest, 'uuid', 'tap0', persistent=False,
        live=True)


def test_a_virtual_machine_loses_it_as_nova_has_it(ours, virt_type):
    virt_type('kvm')
    with mock.patch.object(
            nova_driver.LibvirtDriver,
            '_detach_from_live_and_wait_for_event') as theirs:
        detach(ours)
    theirs.assert_called_once()
