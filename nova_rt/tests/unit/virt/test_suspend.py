# SPDX-License-Identifier: Apache-2.0
"""libvirt can save the memory of virtual machines, but not that of containers."""

import types
from unittest import mock

from nova import exception
from nova import objects
from nova.compute import manager as nova_manager
from nova.virt.libvirt import driver as nova_driver
import pytest

from nova_rt.virt import driver

CONF = nova_driver.CONF
SERVER = types.SimpleNamespace(uuid='u', vm_state='active', get_pci_devices=lambda source: [])


class UnsupportedError(Exception):
    """What libvirt answers where a driver of its own lacks a function."""


@pytest.fixture
def suspend():
    """Suspends a server as a manager of Nova's does."""
    def suspend(manager, virt_type, answer):
        CONF.set_override('virt_type', virt_type, group='libvirt')
        ours = driver.RTLibvirtDriver.__new__(driver.RTLibvirtDriver)
        for name in ('_host', '_detach_pci_devices', '_detach_direct_passthrough_ports',
                     '_detach_mediated_devices'):
            setattr(ours, name, mock.Mock())
        ours._host.get_guest.return_value.save_memory_state.side_effect = answer
        with nova_manager.ComputeManager._error_out_instance_on_exception(
                manager, None, SERVER, instance_state=SERVER.vm_state):
            ours.suspend(None, SERVER)
    objects.register_all()
    yield suspend
    CONF.clear_override('virt_type', group='libvirt')


def test_a_container_is_refused_and_stays_active(suspend):
    manager = mock.Mock()
    with pytest.raises(exception.InstanceSuspendFailure, match='pause or stop it'):
        suspend(manager, 'lxc', UnsupportedError())
    manager._set_instance_obj_error_state.assert_not_called()
    manager._instance_update.assert_called_once_with(
        None, SERVER, vm_state='active', task_state=None)


def test_a_virtual_machine_is_suspended(suspend):
    manager = mock.Mock()
    suspend(manager, 'kvm', [None])
    assert manager.mock_calls == []
