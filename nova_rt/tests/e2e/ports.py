# SPDX-License-Identifier: Apache-2.0
"""Ports of the loopback address, for what tests start themselves."""

import socket


def free() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as holder:
        holder.bind(('127.0.0.1', 0))
        return int(holder.getsockname()[1])
