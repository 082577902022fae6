# SPDX-License-Identifier: Apache-2.0
"""How often a server may be looked at, so that none costs the host much."""

# Of a CPU: for one server, and for all together, in the long run.
ONE = 0.01
ALL = 0.1
# CPU time, some 50 looks, that a server may take at once after it was quiet.
BURST_NS = 5_000_000
# Two misses within this time are heard as one; more than 1,000 in a second are not worth it.
SHORTEST_NS = 1_000_000


def share(servers: int) -> float:
    """Return the share of a CPU that each of so many servers may take."""
    return min(ONE, ALL / max(servers, 1))


class Budget:
    """The CPU time that a server may take at present."""

    def __init__(self, now_ns: int) -> None:
        self._left_ns = float(BURST_NS)
        self._since_ns = now_ns

    def spend(self, spent_ns: int, now_ns: int, servers: int) -> int:
        """Return until when the server rests.

        :param servers: how many there are
        """
        earned_ns = (now_ns - self._since_ns) * share(servers)
        self._left_ns = min(self._left_ns + earned_ns, BURST_NS) - spent_ns
        self._since_ns = now_ns
        overdrawn_ns = max(-self._left_ns, 0)
        return now_ns + max(SHORTEST_NS, int(overdrawn_ns / share(servers)))
