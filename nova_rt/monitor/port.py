# SPDX-License-Identifier: Apache-2.0
"""The host's end of a virtual machine's port: a socket on which QEMU listens."""

import socket


def connect(path: str) -> int:
    """Return a stream of what the virtual machine sends.

    It neither waits nor sends anything. QEMU serves one connection at a time, and the guest
    can send as long as there is one.

    :raises OSError: if nobody listens there, as QEMU has ended
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as stream:
        stream.connect(path)
        return stream.detach()
