# SPDX-License-Identifier: Apache-2.0
"""The network devices of containers."""

from nova.network import model
from nova.virt.libvirt import vif as libvirt_vif

# In what Neutron says of a port: that os-vif makes the device, a TAP.
CREATE_TAP = 'ovs_create_tap'


class ContainerVIFDriver(libvirt_vif.LibvirtGenericVIFDriver):
    """Lets libvirt make the devices, as pairs of which one end is inside.

    Neutron 2026.2 tells Nova that os-vif is to make a TAP device wherever Open
    vSwitch uses the kernel's datapath. A virtual machine opens that; libvirt's
    LXC cannot use it, and fails as its name is taken.
    """

    def plug(self, instance, vif):
        """See base class."""
        super().plug(instance, _without_tap(vif))

    def get_config(self, instance, vif, *args, **kwargs):
        """See base class."""
        return super().get_config(
            instance, _without_tap(vif), *args, **kwargs)


def _without_tap(vif: model.VIF) -> model.VIF:
    """Return a copy of a port that has no word of a TAP device."""
    details = {name: value for name, value in (vif['details'] or {}).items()
               if name != CREATE_TAP}
    return model.VIF(**{**vif, 'details': details})
