# SPDX-License-Identifier: Apache-2.0
"""How often a server may be looked at, so that none costs the host much."""

# Of a CPU: for one server, and for all together, in the long run.
ONE = 0.02
ALL = 0.1
# CPU time, some 20 looks at least, that a server may take at once after it was quiet.
BURST_NS = 5_000_000


def share(servers: int) -> float:
    """Return the share of a CPU that each of so many servers may take."""
    return min(ONE, ALL / max(servers, 1))


class Budget:
    """The CPU time that a server may take at present."""

    def __init__(self, now_ns: int) -> None:
        self._left_ns = float(BURST_NS)
        self._since_ns = now_ns

    def spend(self, spent_ns: int, now_ns: int, servers: int) -> int:
        """Return for how long the server rests, 0 if it may take more at once.

        :param servers: how many there are
        """
        earned_ns = (now_ns - self._since_ns) * share(servers)
        self._left_ns = min(self._left_ns + earned_ns, BURST_NS) - spent_ns
        self._since_ns = now_ns
        return int(max(-self._left_ns, 0) / share(servers))
