# SPDX-License-Identifier: Apache-2.0
"""What is written down of loans and shrinks, cut off, refused, unreadable and unwritable."""

import contextlib
import dataclasses
import errno
import json
import pathlib
import time

import pytest

from nova_rt import bandwidth
from nova_rt import shares
from nova_rt.testing.elastic_servers import A
from nova_rt.testing.elastic_servers import C
from nova_rt.testing.elastic_servers import elastic_40
from nova_rt.testing.elastic_servers import HALF
from nova_rt.testing.elastic_servers import holding
from nova_rt.testing.elastic_servers import on_first
from nova_rt.testing.elastic_servers import PERIOD_US
from nova_rt.testing.elastic_servers import reservations
from nova_rt.testing.elastic_servers import soon
from nova_rt.virt import container_host
from nova_rt.virt import loans
from nova_rt.virt import shrinks
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors


def test_a_service_that_starts_again_keeps_it_until_the_loan_ends( run_two, has, lend, open_host):
    run_two()
    lend(7)
    opened = open_host()
    opened.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (80, 10)
    assert opened.shrunk().keys() == {8}
    assert opened.give_back(7)
    assert (has(7)[0], has(8)[0]) == (40, 40)


@pytest.mark.parametrize('left', ['', '{', '[]', '{"group": 1}', '{"group": "machine/8", '
                                  '"own": 1, "less": 2, "borrower": "x", "since_s": "x"}'])
def test_what_cannot_be_read_is_put_right(run_two, has, lend, machine, shrunk, left):
    run_two()
    lend(7)
    (path,) = shrunk._folder.glob('machine*')
    path.write_text(left)
    machine.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (40, 40)


@pytest.mark.parametrize('nth', range(1, 12))
def test_what_the_kernel_refuses_for_a_moment_is_tried_again(
        run_two, run, has, lend, kernel, machine, monkeypatch, nth):
    run_two()
    run(9, holding(5, 0))
    lend(7)
    write, left = kernel.write, [nth]

    def failing(*args):
        left[0] -= 1
        if left[0] == 0:
            raise errors.KernelRefusalError('It counts what has ended.', errno.EINVAL)
        write(*args)
    with monkeypatch.context() as patched:
        patched.setattr(kernel, 'write', failing)
        machine.apply(9, holding(10, 0))
    assert (has(7)[0], has(8)[0], has(9)[0]) == (40, 40, 10)


@pytest.mark.parametrize('nth', range(1, 12))
@pytest.mark.parametrize('fault', [errors.KernelRefusalError, SystemExit])
def test_whatever_is_refused_or_cut_off_is_put_right(
        run_two, has, lend, kernel, open_host, monkeypatch, shrunk, fault, nth):
    run_two()
    left = [nth]
    write = kernel.write

    def failing(*args):
        left[0] -= 1
        if left[0] == 0 or (left[0] < 0 and fault is SystemExit):
            raise SystemExit if fault is SystemExit else fault('no', errno.EINVAL)
        write(*args)
    with monkeypatch.context() as patched:
        patched.setattr(kernel, 'write', failing)
        with contextlib.suppress(fault):
            lend(7)
    if fault is errors.KernelRefusalError:
        # All is as before, but for what is free, or nothing was refused.
        assert (has(7)[0], has(8)[0]) in ((40, 40), (50, 40), (80, 10))
    opened = open_host()
    opened.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) in ((40, 40), (50, 40), (80, 10))
    opened.give_back(7)
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert not list(shrunk)


def test_more_that_is_cut_off_never_adds_up_to_more_than_the_cap(
        kernel, book, monkeypatch):
    # The kernel itself admits nearly twice as much.
    def opened():
        found = detect.detect(kernel, kernel.count)
        return container_host.ContainerHost(found, shares.HostShares.empty(
            [HALF] * kernel.count, found.occupancy), book=book)
    machine, write, most = opened(), kernel.write, []
    held = [(8, holding(20, 0, rank=A, least=5)), (7, holding(20, 0, rank=C))]
    for pid, each in held:
        kernel.start(pid, f'machine/{pid}')
        machine.apply(pid, each)
    machine.lend(7, bandwidth.fraction_to_bandwidth(0.2), soon(), shrink=True)
    # What a service leaves that is killed while it lends more.
    noted = book.of('machine/7')
    book.note(dataclasses.replace(noted, whole=budget.Budget(PERIOD_US, (4_500, 0, 0, 0))))

    def watched(*args):
        write(*args)
        most.append(sum(on_first(kernel.bandwidths(f'machine/{pid}')) for pid, _ in held))
    monkeypatch.setattr(kernel, 'write', watched)
    opened().reconcile(held)
    assert max(most) <= 50
    assert [on_first(kernel.bandwidths(f'machine/{pid}')) for pid, _ in held] == [20, 20]


def test_one_that_cannot_be_noted_to_have_it_gives_it_back_first(
        run_two, has, lend, kernel, shrunk, monkeypatch):
    run_two()
    note, write, sums, changed = shrinks.Shrinks.note, kernel.write, [], []

    def full(book, shrink):
        if shrink.drawn:
            raise OSError(errno.ENOSPC, 'No space left on device')
        note(book, shrink)

    def watched(*args):
        write(*args)
        sums.append(has(7)[0] + has(8)[0])
        changed.append((has(7)[0], has(8)[0], time.monotonic()))
    monkeypatch.setattr(shrinks.Shrinks, 'note', full)
    monkeypatch.setattr(kernel, 'write', watched)
    assert lend(7) == {}
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert max(sums) <= 90
    had = max(at for its, _, at in changed if its == 80)
    lowered = min(at for _, _, at in changed if at > had)
    restored = min(at for _, other, at in changed if at > had and other == 40)
    assert restored - lowered >= PERIOD_US / 1e6
    assert not list(shrunk)


@pytest.mark.parametrize(('since_s', 'cools'), [(-3.0, False), (-0.005, True), (5000.0, False)])
def test_what_was_noted_before_another_boot_does_not_cool_for_long(monkeypatch, since_s, cools):
    now_s = 1000.0
    monkeypatch.setattr(time, 'monotonic', lambda: now_s)
    own, less = (budget.Budget(PERIOD_US * 100, (each,)) for each in (4_000, 1_000))
    for noted in (shrinks.Shrink('a', own, less, 'b', now_s + since_s),
                  loans.Loan('a', less, own, 0.0, now_s + since_s)):
        assert (noted.cooling_s > 0) is cools
        assert noted.cooling_s <= 1


def test_a_service_that_is_killed_while_a_loan_is_lowered_leaves_nobody_the_rest(
        run, has, lend, open_host, monkeypatch):
    held = [(7, holding(40, 0, rank=C, period_us=300_000)), (8, elastic_40(0))]
    for each in held:
        run(*each)
    lend(7)

    def killed(_):
        raise SystemExit
    began = time.monotonic()
    with monkeypatch.context() as patched:
        patched.setattr(time, 'sleep', killed)
        with pytest.raises(SystemExit):
            lend(8)
    assert (has(7)[0], has(8)[0]) == (50, 10)
    open_host().reconcile(held)
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert time.monotonic() - began >= 0.3


def test_what_the_borrower_was_not_to_have_any_more_is_ended_before_it_is_helped_anew(
        run_two, has, lend, shrunk):
    run_two()
    lend(7)
    # As when the kernel would not take it back.
    shrunk.note(dataclasses.replace(shrunk.of('machine/8'), drawn=False))
    assert lend(7)
    assert (has(7)[0], has(8)[0]) == (80, 10)
    assert [each.drawn for each in shrunk] == [True]


def test_no_loan_is_longer_than_a_day(run_two, lend, book):
    run_two()
    lend(7, until_s=time.monotonic() + 1e6)
    assert book.of('machine/7').until_s <= time.monotonic() + loans.LONGEST_S


def test_a_loan_that_was_noted_before_another_boot_has_ended(monkeypatch):
    own = budget.Budget(PERIOD_US, (1_000,))
    now_s = 1000.0
    monkeypatch.setattr(time, 'monotonic', lambda: now_s)
    assert loans.Loan('a', own, own, now_s + loans.LONGEST_S + 1).has_ended
    assert not loans.Loan('a', own, own, now_s + loans.LONGEST_S).has_ended


@pytest.fixture
def full(monkeypatch):
    """Let nothing more be written down once it is called."""
    def fill(*args, **kwargs):
        raise OSError(errno.ENOSPC, 'No space left on device')
    return lambda: [monkeypatch.setattr(pathlib.Path, name, fill)
                    for name in ('write_text', 'touch', 'unlink')]


def ends(machine, kernel):
    kernel.stop(7)
    machine.take_back('machine/7')


@pytest.mark.parametrize('end', [
    lambda machine, kernel: machine.give_back(7), ends,
    lambda machine, kernel: machine.apply(7, reservations()[0][1]),
    lambda machine, kernel: machine.lend(8, HALF, soon(), shrink=True)])
def test_all_have_their_own_again_though_nothing_can_be_written_down(
        run_two, has, lend, kernel, machine, full, end):
    run_two()
    lend(7)
    full()
    began = time.monotonic()
    end(machine, kernel)
    assert has(8)[0] == 40
    assert time.monotonic() - began >= PERIOD_US / 1e6


def test_nobody_else_has_to_do_with_what_cannot_be_written_down(
        run_two, run, has, lend, kernel, machine, full):
    run_two()
    run(9, holding(10, 1))
    lend(7)
    full()
    kernel.stop(9)
    machine.take_back('machine/9')
    machine.reconcile(reservations())
    run(10, holding(10, 0))
    assert (has(7)[0], has(8)[0], has(10)[0]) == (40, 40, 10)
    machine.reconcile([*reservations(), (10, holding(10, 0))])
    assert (has(7)[0], has(8)[0], has(10)[0]) == (40, 40, 10)


def test_the_next_is_settled_though_one_cannot_be(run, has, lend, kernel, machine, monkeypatch):
    for pid, pcpu in ((7, 0), (17, 1)):
        run(pid, holding(20, pcpu, rank=C))
        run(pid + 1, elastic_40(pcpu))
        run(pid + 2, holding(30, pcpu))
        lend(pid)
    take_back = machine._lending._loans.take_back

    def unwritable(group):
        if group == 'machine/17':
            raise OSError(errno.EROFS, 'Read-only file system')
        return take_back(group)
    monkeypatch.setattr(machine._lending._loans, 'take_back', unwritable)
    kernel.stop(17)
    kernel.stop(7)
    machine.take_back('machine/7')
    assert (has(8)[0], has(18)[1]) == (40, 10)


def test_taking_turns_writes_nothing(run_two, lend, book):
    run_two()
    lend(7)
    before = sorted(book.folder.iterdir())
    with loans.Loans(book.folder).turn():
        assert sorted(book.folder.iterdir()) == before
    assert '.turn' not in {path.name for path in before}


def test_what_was_cut_off_while_more_was_lent_is_not_taken_for_its_own(
        run, has, lend, book, machine):
    run(7, holding(20, 0, rank=C))
    machine.lend(7, bandwidth.fraction_to_bandwidth(0.1), soon())
    noted = book.of('machine/7')
    book.note(dataclasses.replace(noted, whole=budget.Budget(PERIOD_US, (4_500, 0, 0, 0))))
    lend(7, bandwidth.fraction_to_bandwidth(0.2))
    assert has(7)[0] == 40
    machine.give_back(7)
    assert has(7)[0] == 20


@pytest.mark.parametrize('change', [
    lambda told: told['own']['runtimes_us'].pop(),
    lambda told: told['own'].update(period_us=2 * PERIOD_US),
    lambda told: [told[each]['runtimes_us'].pop() for each in ('own', 'whole', 'less')
                  if each in told]])
@pytest.mark.parametrize('of_loans', [True, False])
def test_notes_that_fit_neither_each_other_nor_the_host_are_put_right(
        run_two, has, lend, book, shrunk, open_host, change, of_loans):
    run_two()
    lend(7)
    (path,) = (book if of_loans else shrunk)._folder.glob('machine*')
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    opened = open_host()
    opened.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (40, 40)
