# SPDX-License-Identifier: Apache-2.0
"""vCPUs go to other pCPUs while all that runs there keeps what is reserved for it."""

import contextlib
import random
import subprocess
import sys
import threading
import time

import libvirt
from nova import exception
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.testing import full
from nova_rt.tests.e2e.machines import private_libvirt
from nova_rt.tests.e2e.machines import servers
from nova_rt.virt import cpus
from nova_rt.virt import domain_xml
from nova_rt.virt.deadline import granularity
from nova_rt.virt.deadline import scheduler
from stack import supply
from stack import vcpus

MOVES = 24 if full.WANTED else 12
PERIOD_US = 100_000
# Of a share.
TOLERANCE = 0.003

pytestmark = pytest.mark.skipif(len(cpus.online()) < 2, reason='needs two CPUs')


def holding(runtime_us, pcpu):
    return ledger.Holding(reservation.Reservation(runtime_us, PERIOD_US, 1), (pcpu,))


@pytest.fixture(scope='module')
def disk(tmp_path_factory):
    """A disk whose vCPUs never sleep: one that waits for QEMU begins a new period then."""
    return private_libvirt.spinning_disk(tmp_path_factory.mktemp('disk'), ALOOF=1)


@pytest.fixture
def crowded(server, brisk):
    """30% on pCPU 0, and 60% on each; all run all the time."""
    running = [server(30_000, PERIOD_US, (0,)), server(60_000, PERIOD_US, (0,)),
               server(60_000, PERIOD_US, (1,))]
    for each in running:
        each.start()
    servers.eventually(lambda: vcpus.all_burn(
        thread for each in running for thread in each.threads), seconds=180)
    return running


def test_a_moved_vcpu_has_the_same_pcpu_for_libvirt_and_for_us(server):
    one = server(20_000, PERIOD_US, (0,))
    one.start()
    one.host.move_vcpu(one.instance, holding(20_000, 1))
    assert [pcpus for *_, pcpus in one.scheduled()] == [[1]]
    assert one.guest._domain.vcpuPinInfo()[0][:2] == (False, True)
    assert domain_xml.holding_in(one.guest.get_xml_desc()).pcpus == (1,)
    servers.start_driver()
    assert [pcpus for *_, pcpus in one.scheduled()] == [[1]]


def test_a_machine_that_was_moved_while_stopped_starts_where_it_is(server):
    one = server(20_000, PERIOD_US, (0,))
    one.start()
    one.guest.poweroff()
    one.host.move_vcpu(one.instance, holding(20_000, 1))
    # As an operator would with virsh, on the pCPU that libvirt knows.
    one.guest._domain.create()
    assert one.guest._domain.vcpuPinInfo()[0][:2] == (True, False)
    one.host.emit_event(servers.started(one))
    assert [(runtime, pcpus) for _, runtime, pcpus in one.scheduled()] == [(20_000, [1])]
    assert one.guest._domain.vcpuPinInfo()[0][:2] == (False, True)


def test_what_libvirt_refuses_leaves_the_machine_where_it_was(server, monkeypatch):
    def refuse(*_):
        raise libvirt.libvirtError('no')
    one = server(20_000, PERIOD_US, (0,))
    one.start()
    before, xml = one.scheduled(), one.guest.get_xml_desc()
    monkeypatch.setattr(libvirt.virDomain, 'pinVcpuFlags', refuse)
    with pytest.raises(exception.MigrationError, match='does not pin vCPU 0'):
        one.host.move_vcpu(one.instance, holding(20_000, 1))
    one.host.move_vcpu(one.instance, holding(20_000, 0))
    assert one.scheduled() == before
    assert one.guest.get_xml_desc() == xml


@pytest.fixture
def left(monkeypatch):
    """What is left of their budgets, in ns, where vCPUs go to another pCPU."""
    seen = []

    def pin(self, thread, pcpu):
        budget = self.budget(thread)
        if budget is not None and self.state(thread) == 'R':
            seen.append(budget.left_ns)
        pinned(self, thread, pcpu)
    pinned = scheduler.Scheduler.pin
    monkeypatch.setattr(scheduler.Scheduler, 'pin', pin)
    return seen


def test_a_vcpu_moves_only_with_none_or_all_of_its_budget(crowded, left):
    moved, *_ = crowded
    chance = random.Random(0)
    for number in range(MOVES):
        time.sleep(chance.random() * PERIOD_US / 1e6)
        moved.host.move_vcpu(moved.instance, holding(30_000, (number + 1) % 2))
    print(f'{len(left)} moves of a vCPU that would run, with '
          f'{", ".join(f"{each / 1e6:.1f}" for each in left)} ms left of 30')
    assert left
    late = granularity.tick_us() * 1000
    assert [each for each in left if 0 < each < 30_000_000 - 2 * late] == []


@pytest.mark.parametrize('hogs', [pytest.param(0, marks=full.only), 2])
def test_while_a_vcpu_is_moved_nobody_has_less_than_is_reserved(crowded, hogs):
    """In a second of whole periods, as without moves; hogs are SCHED_OTHER.

    Two of the pCPUs' three vCPUs leave 10% of one to what nobody in here can schedule: when
    this machine's own hypervisor takes more, that is counted.
    """
    moved, *_ = crowded
    machines = [vcpus.Machine(f'{number}', {number: 0.3 if each is moved else 0.6},
                              {number: each.threads[0]})
                for number, each in enumerate(crowded)]
    took = []

    def go_round():
        chance = random.Random(hogs)
        for number in range(MOVES):
            time.sleep(chance.random() * PERIOD_US / 1e6)
            began = time.monotonic()
            moved.host.move_vcpu(moved.instance, holding(30_000, (number + 1) % 2))
            took.append(time.monotonic() - began)
    mover = threading.Thread(target=go_round)
    with burning(hogs):
        still = supply.watch(machines, 5, before_vcpus=True)
        mover.start()
        got = supply.watch(machines, MOVES * 0.3, before_vcpus=True)
        mover.join()
    print(f'{hogs} hogs, {len(took)} moves, the longest {max(took) * 1000:.0f} ms')
    for number, machine in enumerate(machines):
        for what, seen in (('still', still), ('moves', got)):
            each = seen[machine.server][number]
            print(f'{what} {machine.shares[number]:.0%}: {each.share():.4f} in all, the worst '
                  f'second {each.in_whole_periods(PERIOD_US):.4f} of whole periods, '
                  f'{each.in_whole_periods(PERIOD_US, and_stolen=True):.4f} with what this '
                  f"machine's hypervisor took, "
                  f'{each.in_any_second():.4f} of any')
    assert len(took) == MOVES
    late = granularity.tick_us() / 1e6
    assert [machine.server for number, machine in enumerate(machines)
            if got[machine.server][number].in_whole_periods(PERIOD_US, and_stolen=True)
            <= machine.shares[number] - TOLERANCE - late] == []


@contextlib.contextmanager
def burning(hogs):
    processes = [subprocess.Popen([sys.executable, '-c', 'while True: pass'])
                 for _ in range(hogs)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
