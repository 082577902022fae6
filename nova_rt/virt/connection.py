# SPDX-License-Identifier: Apache-2.0
"""Connects to libvirt as Nova's driver does.

A daemon that is reached over TCP or TLS asks who connects. libvirt's client finds the answers
in ``auth.conf``, where Kolla has them, but only for connections that say they have some.
"""

import libvirt
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

# Those of nova.virt.libvirt.host.Host.
_CREDENTIALS = (libvirt.VIR_CRED_AUTHNAME, libvirt.VIR_CRED_ECHOPROMPT, libvirt.VIR_CRED_REALM,
                libvirt.VIR_CRED_PASSPHRASE, libvirt.VIR_CRED_NOECHOPROMPT,
                libvirt.VIR_CRED_EXTERNAL)


def connect(uri: str, *, read_only: bool = False) -> libvirt.virConnect:
    """Return a connection to libvirt.

    :param uri: libvirt's, as in Nova's ``[libvirt] connection_uri``
    :raises libvirt.libvirtError: if libvirt does not answer, or asks for what ``auth.conf`` lacks
    """
    return libvirt.openAuth(uri, [list(_CREDENTIALS), _answer, None],
                            libvirt.VIR_CONNECT_RO if read_only else 0)


def _answer(asked: list[list[object]], _data: None) -> int:
    """Say that there is nobody to ask for what ``auth.conf`` lacks: -1; 0 if it lacks nothing."""
    for _kind, prompt, *_rest in asked:
        LOG.warning('libvirt asks for "%s", which is not in its auth.conf: put name and password '
                    'there, or connect to a socket of this host.', prompt)
    return -1 if asked else 0
