#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Virtual machines with reservations beside hogs, on a node without a control plane.

nova-rt chooses the pCPUs, writes the domains, and gives the vCPUs their reservations; the
kernel's own trace says when each vCPU ran. The last line printed begins with RESULT, and
is an object for JSON.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import time

import libvirt
from oslo_config import cfg

from nova_rt import conf
from nova_rt import fitting
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt import domain_xml
from nova_rt.virt import machines
from nova_rt.virt import this_host
from nova_rt.virt.deadline import granularity

# All on the only pCPU.
ASKED = tuple(reservation.Reservation(*times, 1) for times in (
    (30_000, 100_000), (40_000, 200_000), (12_500, 50_000)))
# Those beside them, by policy: the options of chrt.
HOGS = {'nothing': (), 'other': ('--other', '0'), 'fifo': ('--fifo', '50')}
SECONDS = 10.0
SETTLED_S = 1.0
# Until the guests' firmware has started the disk.
PATIENCE_S = 600
TRACE = pathlib.Path('/sys/kernel/tracing')
SWITCH = re.compile(r' (\d+)\.(\d{6}): sched_switch: .* prev_pid=(\d+) .* next_pid=(\d+) ')
DISK = '/srv/node/spin.raw'
TURNS = 'nova-rt-turns.service'
_DOMAIN = """\
<domain type='qemu'>
  <name>instance-{number:08x}</name>
  <memory unit='MiB'>32</memory>
  <vcpu>{vcpus}</vcpu>
  <metadata/>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <features><acpi/><apic/></features>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='raw'/>
      <source file='{disk}'/><target dev='hda' bus='ide'/></disk>
  </devices>
</domain>
"""


class Machines:
    """The virtual machines of this node.

    :ivar running: what each holds, and the threads of its vCPUs, by its name
    """

    def __init__(self) -> None:
        options = cfg.ConfigOpts()
        options([], project='task', default_config_files=[])
        conf.register_opts(options)
        options.register_opt(cfg.StrOpt('virt_type', default='qemu'), 'libvirt')
        options.register_opt(cfg.StrOpt('connection_uri'), 'libvirt')
        self._libvirt = libvirt.open('qemu:///system')
        self._kernel = this_host.from_options(options, lambda: self._libvirt)
        self._shares = self._kernel.empty
        self.running: dict[str, tuple[ledger.Holding, Sequence[int]]] = {}

    def start(self, wanted: reservation.Reservation) -> None:
        """Start a virtual machine that runs only with its reservation."""
        holding = ledger.Holding(wanted, fitting.place(self._shares, wanted))
        self._shares = self._shares.add(wanted, holding.pcpus)
        number = len(self.running)
        disk = pathlib.Path(f'/var/lib/nova/disk-{number}')
        shutil.copy(DISK, disk)
        domain = self._libvirt.createXML(domain_xml.with_pinned_vcpus(
            _DOMAIN.format(number=number, vcpus=wanted.vcpus, disk=disk), holding),
            libvirt.VIR_DOMAIN_START_PAUSED)
        self._kernel.apply(domain.ID(), holding)
        domain.resume()
        threads = machines.Machines(lambda: self._libvirt).threads_of(domain.ID())
        self.running[domain.name()] = holding, threads

    def threads(self) -> list[int]:
        """Return the threads of all vCPUs."""
        return [thread for _, threads in self.running.values() for thread in threads]


def main() -> None:
    """Start them, trace them beside each hog, and print when their vCPUs ran."""
    node = Machines()
    for wanted in ASKED:
        node.start(wanted)
    wait_until_all_run(node.threads())
    # Above every hog.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    windows = []
    # Stopping comes first: it must take back what starting has done.
    shutil.copy(pathlib.Path(__file__).with_name(TURNS), '/run/systemd/system')
    turns_end_by_a_timer('start')
    for action in ('stop', 'start'):
        turns_end_by_a_timer(action)
        for beside, policy in HOGS.items():
            ran = measured(node.threads(), policy)
            print('measured beside', beside, flush=True)
            windows.append({'is_exact': granularity.is_exact(), 'beside': beside, 'vcpus': [
                {'runtime_us': holding.reservation.runtime_us,
                 'period_us': holding.reservation.period_us, 'ran_us': ran[thread]}
                for holding, threads in node.running.values() for thread in threads]})
    print('\nRESULT', json.dumps({
        'kernel': platform.release(), 'tick_us': granularity.tick_us(),
        'window_us': round(SECONDS * 1_000_000), 'windows': windows}), flush=True)


def turns_end_by_a_timer(action: str) -> None:
    """Have the unit for it started or stopped by systemd."""
    subprocess.run(('systemctl', action, TURNS), check=True)


def wait_until_all_run(threads: Sequence[int]) -> None:
    """Wait until every vCPU burns CPU: the guest's firmware starts only the first.

    :raises TimeoutError: if one does not
    """
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        before = [used_ns(thread) for thread in threads]
        time.sleep(SETTLED_S)
        if all(used_ns(thread) - had > 100_000_000
               for thread, had in zip(threads, before, strict=True)):
            return
    raise TimeoutError(f'Some vCPU does not run: {[used_ns(thread) for thread in threads]}')


def used_ns(thread: int) -> int:
    """Return the CPU time that a thread has used."""
    return int(pathlib.Path(f'/proc/{thread}/schedstat').read_text().split()[0])


@contextlib.contextmanager
def hogs(policy: Sequence[str]) -> Iterator[None]:
    """Run a hog on every pCPU, if any."""
    processes = [subprocess.Popen((
        'chrt', *policy, 'taskset', '--cpu-list', str(pcpu), 'sh', '-c', 'while :; do :; done'))
        for pcpu in (range(os.cpu_count() or 1) if policy else ())]
    time.sleep(SETTLED_S)
    try:
        yield
        for process in processes:
            if process.poll() is not None:
                raise ChildProcessError('A hog has ended: nothing was beside.')
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


class Trace:
    """The kernel's trace of when threads ran, from the beginning of the context.

    Switching it on and off waits until all tasks have been scheduled once, which a hog
    prevents: that is done before it and after it.

    :ivar text: once the context has ended
    """

    def __init__(self, threads: Sequence[int]) -> None:
        self._event = TRACE / 'events/sched/sched_switch'
        self._filter = ' || '.join(
            f'prev_pid == {thread} || next_pid == {thread}' for thread in threads)
        self.text = ''

    def __enter__(self) -> 'Trace':
        (self._event / 'filter').write_text(self._filter)
        (TRACE / 'trace_clock').write_text('mono')
        (TRACE / 'buffer_size_kb').write_text('4096')
        (TRACE / 'trace').write_text('')
        (self._event / 'enable').write_text('1')
        return self

    def __exit__(self, *exception: object) -> None:
        (self._event / 'enable').write_text('0')
        self.text = (TRACE / 'trace').read_text()


def measured(threads: Sequence[int], policy: Sequence[str]) -> dict[int, list[tuple[int, int]]]:
    """Return from when to when each thread ran beside hogs, in µs from the window's begin."""
    with Trace(threads) as trace, hogs(policy):
        began_us = time.monotonic_ns() // 1000
        time.sleep(SECONDS + SETTLED_S)
    return turns_in(trace.text, threads, began_us)


def turns_in(trace: str, threads: Sequence[int], began_us: int) -> dict[int, list[tuple[int, int]]]:
    """Return from when to when each thread ran, according to the kernel's trace.

    :param began_us: when the window began, by the trace's clock
    """
    length = round(SECONDS * 1_000_000)
    ran: dict[int, list[tuple[int, int]]] = {thread: [] for thread in threads}
    # One that stops first was running when the window began.
    since: dict[int, int] = dict.fromkeys(threads, 0)
    for seconds, microseconds, previous, following in SWITCH.findall(trace):
        now = min(max(int(seconds + microseconds) - began_us, 0), length)
        if int(previous) in since:
            ran[int(previous)].append((since.pop(int(previous)), now))
        if int(following) in ran:
            since[int(following)] = now
    return {thread: [turn for turn in turns if turn[0] < turn[1]]
            for thread, turns in ran.items()}


if __name__ == '__main__':
    main()
