# SPDX-License-Identifier: Apache-2.0
"""Applying a reservation to the threads of a virtual machine's vCPUs.

The kernel is real, and so are the threads, which only sleep: QEMU's own would cost the
same. There are more vCPUs than this machine has pCPUs, so several share one; with the
kernel's admission off, which the measurement restores, it takes them all.
"""

from collections.abc import Iterator
import contextlib
import os
import subprocess
import sys
import time

from bench import measure
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.testing import rt_sysctl
from nova_rt.virt import machine_host
from nova_rt.virt.deadline import scheduler

VCPUS = 32
ROUNDS = 40
US = 1e6
# Little, as many share a pCPU.
FIRST = reservation.Reservation(1_000, 100_000, VCPUS)
SECOND = reservation.Reservation(2_000, 200_000, VCPUS)

_SLEEPERS = """
import pathlib, sys, threading, time

threads = [threading.Thread(target=time.sleep, args=(1000,), daemon=True)
           for _ in range(int(sys.argv[1]))]
for number, thread in enumerate(threads):
    thread.start()
    pathlib.Path(f'/proc/self/task/{thread.native_id}/comm').write_text(f'CPU {number}/KVM')
print(*[thread.native_id for thread in threads], flush=True)
time.sleep(1000)
"""


class _FoldedScheduler(scheduler.Scheduler):
    """The kernel's, with pCPUs that do not exist folded onto those that do."""

    def set_affinity(self, thread: int, pcpus: frozenset[int]) -> None:
        super().set_affinity(
            thread, frozenset(pcpu % (os.cpu_count() or 1) for pcpu in pcpus))


def measurements() -> Iterator[measure.Measurement]:
    """Yield the time of a change of every vCPU; nothing without root.

    As most threads are not where they are wanted, they are pinned each time, too, as
    otherwise at the start of a server only.
    """
    if os.geteuid():
        return
    with rt_sysctl.admission_off(), sleeping(VCPUS) as threads:
        host = machine_host.MachineHost(
            _FoldedScheduler(), shares.HostShares.empty((0,) * VCPUS), lambda number: threads)
        seconds = []
        for number in range(ROUNDS):
            wanted = (FIRST, SECOND)[number % 2]
            began = time.perf_counter()
            host.apply(1, ledger.Holding(wanted, tuple(range(VCPUS))))
            seconds.append(time.perf_counter() - began)
    applied = measure.Spread.of([elapsed * US for elapsed in seconds])
    yield measure.Measurement(
        f'apply, {VCPUS} vCPUs of a virtual machine', 'µs', applied,
        aims=(measure.Aim('under 2 ms', applied.median < 2000),),
        notes={'threads': 'asleep, not of QEMU'})


@contextlib.contextmanager
def sleeping(count: int) -> Iterator[list[int]]:
    """Yield the ids of so many threads, named as those of vCPUs, in a process of their own."""
    process = subprocess.Popen((sys.executable, '-c', _SLEEPERS, str(count)),
                               stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None:
            raise RuntimeError('The threads have no output.')
        yield [int(word) for word in process.stdout.readline().split()]
    finally:
        process.kill()
        process.communicate()
