# SPDX-License-Identifier: Apache-2.0
"""Which kind of server a compute host runs: containers or virtual machines."""

from oslo_config import cfg

from nova_rt import kinds

Kind = kinds.Kind
# By Nova's [libvirt] virt_type.
BY_VIRT_TYPE = kinds.BY_HYPERVISOR
# libvirt's, of those on this machine.
_URIS = {Kind.CONTAINER: 'lxc:///', Kind.MACHINE: 'qemu:///system'}


def of(conf: cfg.ConfigOpts) -> Kind:
    """Return the kind that Nova's options choose, containers without these.

    One that nova-rt does not support is a container's here, as
    :func:`nova_rt.virt.prerequisites.check` refuses to offer it anything.
    """
    if 'libvirt' not in conf:
        return Kind.CONTAINER
    return BY_VIRT_TYPE.get(conf.libvirt.virt_type, Kind.CONTAINER)


def uri(conf: cfg.ConfigOpts) -> str:
    """Return where libvirt is."""
    configured = conf.libvirt.connection_uri if 'libvirt' in conf else None
    return configured or _URIS[of(conf)]
