# SPDX-License-Identifier: Apache-2.0
"""The images that requests to nova-api name.

They are looked up in Glance with the caller's own context, as Nova does.
"""

from collections.abc import Mapping

from nova import context as nova_context
from nova.image import glance


def of_new_server(context: nova_context.RequestContext,
                  server: Mapping[str, object]) -> Mapping[str, object]:
    """Return the properties of the image that a new server boots from.

    Empty for a server that boots from an existing volume, whose image Nova learns
    from Cinder: what contradicts there is refused when the server starts.

    :param server: of the body of the request
    :raises NovaException: if Glance has no such image, or does not answer
    """
    reference = server.get('imageRef') or _of_new_volume(server)
    return properties(context, reference) if isinstance(reference, str) else {}


def properties(context: nova_context.RequestContext,
               reference: str) -> Mapping[str, object]:
    """Return an image's properties.

    :param reference: its id, or an address that ends with it
    :raises NovaException: if Glance has no such image, or does not answer
    """
    image = glance.API().get(context, reference.rstrip('/').rpartition('/')[2])
    values = image.get('properties')
    return values if isinstance(values, dict) else {}


def _of_new_volume(server: Mapping[str, object]) -> object:
    """Return the image that a new root volume is made from, None without one."""
    devices = server.get('block_device_mapping_v2')
    for device in devices if isinstance(devices, list) else ():
        if (isinstance(device, dict) and device.get('source_type') == 'image'
                and str(device.get('boot_index')) == '0'):
            return device.get('uuid')
    return None
