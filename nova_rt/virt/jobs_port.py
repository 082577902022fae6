# SPDX-License-Identifier: Apache-2.0
"""The virtio-serial port by which a virtual machine tells of its jobs.

The domain names no path for the host's end: libvirt makes one below its own folder of
channels at each start, after the domain's id there, and keeps it out of what it saves and
of what it sends to another host.
"""

from lxml import etree

# In the guest, udev makes /dev/virtio-ports/NAME of it: jobs/port.c.
NAME = 'org.nova_rt.jobs.0'
_PORT = f"channel[@type='unix']/target[@type='virtio'][@name='{NAME}']"


def with_port(xml: str) -> str:
    """Return a virtual machine's domain with the port, which it may have already.

    :param xml: a QEMU domain as Nova writes it
    """
    domain = etree.fromstring(xml)
    devices = domain.find('devices')
    if devices is None:
        devices = etree.SubElement(domain, 'devices')
    if devices.find(_PORT) is None:
        channel = etree.SubElement(devices, 'channel', type='unix')
        etree.SubElement(channel, 'source', mode='bind')
        etree.SubElement(channel, 'target', type='virtio', name=NAME)
    text: str = etree.tostring(domain, encoding='unicode')
    return text


def path_in(xml: str) -> str | None:
    """Return the socket of the port's other end, None if a domain has none.

    :param xml: a domain that runs, as libvirt describes it
    """
    target = etree.fromstring(xml).find(f'devices/{_PORT}')
    source = None if target is None else target.getparent().find('source')
    return None if source is None else source.get('path')
