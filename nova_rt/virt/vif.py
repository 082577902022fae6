# SPDX-License-Identifier: Apache-2.0
"""The network devices of containers."""

from __future__ import annotations

from typing import Any

from nova import objects
from nova.network import model
from nova.virt.libvirt import vif as libvirt_vif

# In the details of a port in Neutron: that os-vif makes the device, a TAP.
CREATE_TAP = 'ovs_create_tap'


class ContainerVIFDriver(libvirt_vif.LibvirtGenericVIFDriver):
    """Lets libvirt make the devices, as pairs of which one end is inside.

    Neutron 2026.2 has os-vif make a TAP device wherever Open vSwitch uses the
    kernel's datapath. A virtual machine opens that; libvirt's LXC cannot use it,
    and fails because its name is taken.
    """

    def plug(self, instance: objects.Instance, vif: model.VIF) -> None:
        """See base class."""
        super().plug(instance, _without_tap(vif))

    def get_config(self, instance: objects.Instance, vif: model.VIF, *args: Any,
                   **kwargs: Any) -> Any:
        """See base class."""
        return super().get_config(
            instance, _without_tap(vif), *args, **kwargs)


def _without_tap(vif: model.VIF) -> model.VIF:
    """Return a copy of a port without the request for a TAP device."""
    details = {name: value for name, value in (vif['details'] or {}).items()
               if name != CREATE_TAP}
    return model.VIF(**{**vif, 'details': details})
