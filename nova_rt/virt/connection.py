# SPDX-License-Identifier: Apache-2.0
"""Connects to libvirt as Nova's driver does.

A daemon that is reached over TCP or TLS asks who connects. libvirt's client finds the answers
in ``auth.conf``, where Kolla has them, but only for connections that say they have some.
"""

import libvirt

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
    """Say that there is nobody to ask for what ``auth.conf`` lacks."""
    return -1 if asked else 0
