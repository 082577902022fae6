# SPDX-License-Identifier: Apache-2.0
"""Which kind of server a compute host runs: containers or virtual machines."""

import enum

from oslo_config import cfg


class Kind(enum.Enum):
    """A kind of server; the value is libvirt's URI of those on this machine."""

    CONTAINER = 'lxc:///'
    MACHINE = 'qemu:///system'


# By Nova's [libvirt] virt_type.
BY_VIRT_TYPE = {'lxc': Kind.CONTAINER, 'kvm': Kind.MACHINE, 'qemu': Kind.MACHINE}


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
    return configured or of(conf).value
