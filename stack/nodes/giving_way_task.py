#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An elastic container gives way to a critical one that misses its deadlines, as JSON.

All containers have a hog on each of their pCPUs. They are looked at before, meanwhile and
afterwards, and again and again while the one gives way and has its own again at moments that
have nothing to do with any period; each write is noted. ``bare.py``, ``look.py``,
``samples.py`` and ``late`` lie beside this program in the node's folder. The last line printed
begins with RESULT.
"""

from collections.abc import Callable
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
from unittest import mock

from bare import Bare  # type: ignore[import-not-found]  # beside it on the node
import look  # type: ignore[import-not-found]  # beside it on the node
from samples import Samples  # type: ignore[import-not-found]  # beside it on the node

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation
from nova_rt.reaction import loan_policy
from nova_rt.reaction import reactor
from nova_rt.reaction import threshold
from nova_rt.virt import containers
from nova_rt.virt.cgroup import tree

Rank = criticality.Criticality
# Runtime and period in µs, vCPUs, and what it says besides. On one pCPU, all three are.
ELASTIC = (9_000, 20_000, 4, elastic.Terms(Rank.A, 2_000))
NEIGHBOUR = (4_000, 40_000, 4, elastic.Terms(Rank.A))
CRITICAL = (8_000, 25_000, 1, elastic.Terms(Rank.C))
LATE = pathlib.Path('/srv/node/late')
FOR_S = 1.0  # without misses, until the loan ends
SECONDS = 10.0  # whole periods
SETTLED = 2.0  # seconds until every hog runs
PATIENCE_S = 60.0
ROUNDS = 12
# Seconds between two changes: no multiples of a period, nor of half of one.
APART = (0.1837, 0.2271)


class Node:
    """The containers, and what hears and helps them."""

    def __init__(self) -> None:
        self.bare = Bare()
        for runtime_us, period_us, vcpus, terms in (ELASTIC, NEIGHBOUR, CRITICAL):
            self.bare.start(
                reservation.Reservation(runtime_us, period_us, vcpus), terms=terms)
        self.told: list[tuple[str, str]] = []
        self.name, running = list(self.bare.running().items())[-1]
        self.number = running.pid
        self.pcpu, = self.bare.holdings[-1].pcpus
        self.init = containers.first_process(self.number)
        policy = loan_policy.LoanPolicy(
            threshold.Threshold(3, 1.0), bandwidth.BW_UNIT, FOR_S)
        self._reactor = reactor.Reactor(
            self.bare.kernel, self.bare.running, policy, self._tell, self._tell)
        self._reactor.start()
        self.spoken, self.groups = look.groups()

    def _tell(self, server: str, sentence: str) -> None:
        self.told.append((server, sentence))

    def has_loan(self) -> bool:
        """Return whether the critical container has more than its reservation."""
        held = self.spoken.read(self.groups[self.name])
        return any(runtime_us > CRITICAL[0] for runtime_us in held.runtimes_us)

    def see(self, group: str) -> tuple[int]:
        """Return what a container has used on the pCPU of the critical one, in µs."""
        return look.used(self.spoken, group)[1][self.pcpu],

    def miss(self) -> subprocess.Popen[bytes]:
        """Let the critical container's application miss its deadlines."""
        inside = ('nsenter', '--mount', '--pid', '--target', str(self.init))
        subprocess.run((*inside, 'mount', '-t', 'tmpfs', 'tmpfs', '/run'), check=True)
        shutil.copy(LATE, f'/proc/{self.init}/root/run/late')
        # In a group of its own, as nsenter has a child.
        return subprocess.Popen((*inside, '/run/late', '100000'), process_group=0)

    def end(self) -> None:
        """End everything."""
        self._reactor.stop()
        self.bare.end()


class Writes:
    """What containers had after each write to their groups.

    :ivar taken: by name, when the write began and ended, and period and runtime on the pCPU of
        the critical one afterwards, in µs
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._names = {group: name for name, group in node.groups.items()}
        self.taken: dict[str, list[tuple[float, float, int, int]]] = {
            name: [] for name in node.groups}
        for group in self._names:
            self._note(group, time.monotonic_ns())
        self._write = tree.CgroupTree.write
        mock.patch.object(tree.CgroupTree, 'write', self._noting()).start()

    def _noting(self) -> Callable[[tree.CgroupTree, str, str, str], None]:
        def noting(groups: tree.CgroupTree, group: str, name: str, text: str) -> None:
            began_ns = time.monotonic_ns()
            self._write(groups, group, name, text)
            if group in self._names:
                self._note(group, began_ns)
        return noting

    def _note(self, group: str, began_ns: int) -> None:
        ended_ns = time.monotonic_ns()
        held = self._node.spoken.read(group)
        self.taken[self._names[group]].append((
            began_ns / 1_000, ended_ns / 1_000, held.period_us,
            held.runtimes_us[self._node.pcpu]))


def main() -> None:
    """Let one give way, look at all of them, and print the result."""
    # Whoever looks comes first; the reactor is as on any node.
    node = Node()
    look.above_all(node.spoken.tree)
    time.sleep(SETTLED)
    phases = {'before': look.Measured(SECONDS).containers}
    late = node.miss()
    until(node.has_loan)
    time.sleep(SETTLED)
    phases['meanwhile'] = look.Measured(SECONDS).containers
    os.killpg(late.pid, signal.SIGKILL)
    until(lambda: not node.has_loan())
    time.sleep(SETTLED)
    phases['afterwards'] = look.Measured(SECONDS).containers
    writes = Writes(node)
    samples = Samples(node.see, node.groups)
    changed = [back_and_forth(node) for _ in range(ROUNDS)]
    samples.end()
    held = {name: each['runtimes_us'] for name, each in look.Measured(0).containers.items()}
    node.end()
    print('\nRESULT', json.dumps({
        'phases': phases, 'told': node.told, 'samples': samples.taken,
        'writes': writes.taken, 'changed': changed,
        'held': held, 'names': sorted(node.groups), 'pcpu': node.pcpu,
        'capacity': [each / bandwidth.BW_UNIT for each in node.bare.kernel.empty.capacity],
        'notes': sorted(os.listdir('/run/nova-rt/loans/.shrunk')),
    }), flush=True)


def back_and_forth(node: Node) -> tuple[float, float]:
    """Lend and take back; return how long each took, in seconds."""
    began = time.monotonic()
    node.bare.kernel.lend(
        node.number, bandwidth.BW_UNIT, began + PATIENCE_S, shrink=True)
    lent = time.monotonic() - began
    time.sleep(APART[0])
    began = time.monotonic()
    node.bare.kernel.give_back(node.number)
    back = time.monotonic() - began
    time.sleep(APART[1])
    return lent, back


def until(holds: Callable[[], bool]) -> None:
    """Wait for something.

    :raises TimeoutError: if it does not happen
    """
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


if __name__ == '__main__':
    main()
