# SPDX-License-Identifier: Apache-2.0
"""The host's end of a virtual machine's port: a socket on which QEMU listens."""

import socket


def connect(path: str) -> int:
    """Return a stream of what the virtual machine sends.

    It neither waits nor sends anything. QEMU serves one connection at a time, and the guest
    can send as long as there is one.

    :raises OSError: if nobody listens there, as QEMU has ended
    """
    # A guest that was saved or migrated while nobody read what it sent is never served again:
    # QEMU sends the rest before anybody is connected, fails, and waits without end
    # (hw/char/virtio-console.c, flush_buf()). The end of a connection ends that, too. A record
    # that comes in between is lost; the next one counts all that were missed.
    with _connected(path):
        pass
    with _connected(path) as stream:
        return stream.detach()


def _connected(path: str) -> socket.socket:
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        stream.connect(path)
    except OSError:
        stream.close()
        raise
    return stream
