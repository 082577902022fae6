# SPDX-License-Identifier: Apache-2.0
"""What is particular to HCBS on version 2; the rest is conformance."""

import errno
import time

import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.testing import fake_hcbs
from nova_rt.virt import container_host
from nova_rt.virt import loans
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hcbs
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup import survey
from nova_rt.virt.cgroup import tree


def host_with(kernel):
    detected = detect.detect(kernel, kernel.count)
    return container_host.ContainerHost(detected, shares.HostShares.empty(
        [detected.admitted()] * kernel.count, detected.occupancy))


def holding(runtime_us, *pcpus):
    return ledger.Holding(
        reservation.Reservation(runtime_us, 100_000, len(pcpus)), pcpus)


def test_a_list_names_every_pcpu_and_each_time_once():
    assert hcbs.as_list((400, 0, 400, 7)) == '400 0,2 0 1 7 3'


def test_a_list_has_runtimes_on_the_chosen_pcpus_only():
    kernel = fake_hcbs.FakeListKernel()
    kernel.start(7, 'machine.slice/one.scope')
    host_with(kernel).apply(7, holding(40_000, 3, 1))
    need = bandwidth.to_bandwidth(40_000, 100_000)
    assert kernel.bandwidths('machine.slice/one.scope') == [0, need, 0, need]
    assert kernel.bandwidths('machine.slice') == [0, need, 0, need]


def test_periods_that_differ_are_read_as_the_longest_of_them():
    kernel = fake_hcbs.FakeListKernel(count=2)
    texts = {dialect.RUNTIME: '500 300', dialect.PERIOD: '1000 4000'}
    detected = hcbs.HCBSList(kernel, 2)
    kernel.read = lambda group, name: texts[name]
    assert detected.read('one') == budget.Budget(4_000, (2_000, 300))


@pytest.mark.parametrize(('text', 'runtimes'), [
    ('500', (500,) * 4), ('500 0 0 7', (500, 0, 0, 7)), ('0 0 0 0', (0,) * 4),
    ('500 0,2 7 1,3', (500, 7, 500, 7)), ('500 0-2 0 3', (500, 500, 500, 0)),
    ('9 0 8 1 7 2 0 3', (9, 8, 7, 0)), ('-1', (0,) * 4), ('-1 0-3', (0,) * 4)])
def test_a_time_for_all_for_each_and_lists_of_cpus_are_read_alike(
        text, runtimes):
    kernel = fake_hcbs.FakeListKernel()
    detected = hcbs.HCBSList(kernel, 4)
    kernel.read = lambda group, name: (
        text if name == dialect.RUNTIME else '1000')
    assert detected.read('one') == budget.Budget(1_000, runtimes)


def test_max_has_the_runtime_on_every_pcpu():
    kernel = fake_hcbs.FakeMaxKernel()
    kernel.start(7, 'machine.slice/one.scope')
    machine = host_with(kernel)
    machine.apply(7, holding(40_000, 3, 1))
    assert kernel.read('machine.slice/one.scope', hcbs.MAX) == (
        '40000 100000\n')
    assert machine.empty.occupancy is shares.Occupancy.EVERY


@pytest.fixture
def confined():
    """A kernel whose cpu.rt.max follows cpusets, with containers on pCPUs 0 and 1, and 2."""
    kernel = fake_hcbs.FakeCpusetKernel()
    for pid, pcpus in ((7, '0,1'), (8, '2')):
        kernel.start(pid, f'machine/{pid}')
        kernel.write(f'machine/{pid}', fake_hcbs.CPUS, pcpus)
    return kernel


def test_max_has_the_runtime_on_the_pcpus_of_the_cpuset_where_the_kernel_follows_it(confined):
    machine = host_with(confined)
    assert machine.empty.occupancy is shares.Occupancy.CHOSEN
    machine.reconcile([])
    machine.apply(7, holding(80_000, 0, 1))
    machine.apply(8, holding(70_000, 2))
    assert confined.percents('machine/7') == [80, 80, 0, 0]
    assert confined.percents('machine/8') == [0, 0, 70, 0]
    # The group above has no cpuset of its own.
    assert confined.percents('machine') == [80] * 4
    writes = len(confined.writes)
    machine.reconcile([(7, holding(80_000, 0, 1)), (8, holding(70_000, 2))])
    assert len(confined.writes) == writes
    found = machine.survey({'web': 7})
    assert found.containers['web'] == tuple(confined.bandwidths('machine/7'))
    assert found.kept == (0,) * 4
    confined.stop(7)
    machine.reconcile([(8, holding(70_000, 2))])
    assert confined.percents('machine') == [70] * 4


def test_max_has_it_on_every_pcpu_where_cpusets_are_in_another_hierarchy(confined):
    read = confined.read
    confined.read = lambda group, name: (
        'cpu\n' if name == 'cgroup.controllers' else read(group, name))
    assert host_with(confined).empty.occupancy is shares.Occupancy.EVERY


def test_a_group_has_its_runtime_also_where_those_below_it_take_all(confined):
    detected = detect.detect(confined, confined.count)
    detected.write('machine', budget.Budget(100_000, (50_000,) * 4))
    detected.write('machine/8', budget.Budget(100_000, (0, 0, 50_000, 0)))
    assert '2 runtime=0 ' in confined.read('machine', hcbs.EFFECTIVE)
    assert detected.read('machine') == budget.Budget(100_000, (50_000,) * 4)


def test_what_an_ended_container_had_all_of_is_taken_back(confined, monkeypatch):
    machine = host_with(confined)
    machine.reconcile([])
    confined.start(9, 'machine/9')
    machine.apply(9, holding(70_000, 0, 1, 2, 3))
    confined.stop_and_linger(9)
    monkeypatch.setattr(time, 'sleep', lambda _: confined.let_go())
    machine.take_back('machine/9')
    assert confined.bandwidths('machine') == [0] * 4


def test_a_container_whose_own_groups_had_all_of_it_stays_where_it_is(confined):
    machine = host_with(confined)
    machine.apply(8, holding(70_000, 2))
    confined.start(9, 'machine/8/inner')
    confined.write('machine/8/inner', hcbs.MAX, '70000 100000')
    confined.stop_and_linger(9)
    writes = len(confined.writes)
    machine.apply(8, holding(70_000, 2))
    assert len(confined.writes) == writes


@pytest.mark.parametrize('between', [hcbs.UNBOUNDED, '70000'])
def test_a_container_nests_its_own_groups_as_deep_as_it_likes(tmp_path, between):
    deepest = tmp_path / 'top' / '/'.join('x' * 1100)
    groups = [deepest, *deepest.parents][:1101]
    for path in reversed(groups):
        path.mkdir()
        ends = path in (groups[0], groups[-1])
        (path / hcbs.MAX).write_text(f'{70_000 if ends else between} 100000\n')
        (path / hcbs.EFFECTIVE).write_text(
            f'0 runtime={70_000 if path == deepest else 0} period=100000\n')
    chosen = hcbs.HCBSMax(tree.CgroupTree(tmp_path, 2), 4)
    chosen.occupancy = shares.Occupancy.CHOSEN
    try:
        assert chosen.read('top') == budget.Budget(100_000, (70_000, 0, 0, 0))
    finally:
        # pytest would recurse.
        for path in groups:
            (path / hcbs.MAX).unlink()
            (path / hcbs.EFFECTIVE).unlink()
            path.rmdir()


def test_a_container_that_moves_has_its_runtime_on_both_pcpus_meanwhile(confined):
    machine = host_with(confined)
    machine.apply(8, holding(70_000, 2))
    seen = []

    class Confinement:
        """Threads cannot be confined here; their cpuset can."""

        def move(self, group, before, after):
            seen.append(confined.percents(group))
            confined.write(group, fake_hcbs.CPUS, '3')
    machine._confinement = Confinement()
    machine.move(8, holding(70_000, 3))
    assert seen == [[0, 0, 70, 70]]
    assert confined.percents('machine/8') == [0, 0, 0, 70]


def test_a_container_stays_where_the_kernel_lets_no_cpuset_change(confined):
    machine = host_with(confined)
    machine.reconcile([])
    machine.apply(8, holding(70_000, 2))
    confined.changes_cpusets = False
    with pytest.raises(errors.KernelRefusalError, match='stop its server first'):
        machine.move(8, holding(70_000, 3))
    assert confined.percents('machine/8') == [0, 0, 70, 0]
    assert confined.percents('machine') == [70] * 4


def test_a_budget_that_is_refused_leaves_the_cpuset_as_it_was(confined):
    detected = detect.detect(confined, confined.count)
    detected.write('machine', budget.Budget(100_000, (50_000,) * 4))
    with pytest.raises(errors.KernelRefusalError):
        detected.give('machine/8', budget.Budget(100_000, (0, 0, 60_000, 60_000)))
    assert confined.cpusets['machine/8'] == {2}


def test_the_cpuset_of_a_group_above_is_its_administrators(confined):
    confined.write('machine', fake_hcbs.CPUS, '0-2')
    machine = host_with(confined)
    machine.reconcile([])
    machine.apply(7, holding(80_000, 0, 1))
    assert confined.cpusets['machine'] == {0, 1, 2}
    machine.apply(8, holding(70_000, 2))
    assert confined.percents('machine') == [80, 80, 80, 0]
    assert confined.percents('machine/8') == [0, 0, 70, 0]
    writes = len(confined.writes)
    machine.reconcile([(7, holding(80_000, 0, 1)), (8, holding(70_000, 2))])
    assert len(confined.writes) == writes


def test_a_container_without_a_cpuset_has_its_runtime_on_its_pcpus_only(confined):
    confined.start(9, 'machine/9')
    machine = host_with(confined)
    machine.reconcile([])
    machine.apply(9, holding(70_000, 3))
    assert confined.percents('machine/9') == [0, 0, 0, 70]


def test_what_has_its_runtime_on_every_pcpu_needs_no_cpuset(confined, monkeypatch):
    confined.start(9, 'machine/9')
    machine = host_with(confined)
    monkeypatch.setattr(confined, '_files', lambda: {hcbs.MAX, hcbs.EFFECTIVE})
    machine.apply(9, holding(70_000, 0, 1, 2, 3))
    assert confined.percents('machine/9') == [70] * 4


def test_a_container_is_given_nothing_on_pcpus_that_are_not_its_own(confined):
    confined.write('machine', fake_hcbs.CPUS, '0-1')
    machine = host_with(confined)
    machine.reconcile([])
    with pytest.raises(errors.KernelRefusalError, match='cpusets above /machine/8 keep it from'):
        machine.apply(8, holding(70_000, 2))
    for group in ('machine', 'machine/8'):
        assert confined.bandwidths(group) == [0] * 4


def test_where_a_runtime_is_one_for_the_cpuset_the_fullest_of_its_pcpus_decides(
        confined, tmp_path):
    detected = detect.detect(confined, confined.count)
    machine = container_host.ContainerHost(detected, shares.HostShares.empty(
        [detected.admitted()] * 4, detected.occupancy), book=loans.Loans(tmp_path))
    machine.apply(7, holding(30_000, 0, 1))
    confined.start(9, 'machine/9')
    confined.write('machine/9', fake_hcbs.CPUS, '1')
    machine.apply(9, holding(20_000, 1))
    lent = machine.lend(7, bandwidth.BW_UNIT, time.monotonic() + 60)
    assert {pcpu: round(100 * each / bandwidth.BW_UNIT) for pcpu, each in lent.items()} == {
        0: 40, 1: 40}
    assert confined.percents('machine/7') == [70, 70, 0, 0]


def test_groups_that_say_max_are_left_so_and_passed_over():
    kernel = fake_hcbs.FakeMaxKernel()
    kernel.start(7, 'machine.slice/one.scope/libvirt')
    kernel.start(8, 'machine.slice/two.scope/libvirt')
    detected = detect.detect(kernel, kernel.count)
    detected.write('machine.slice', budget.Budget(100_000, (0,) * 4))
    groups = hierarchy.Hierarchy(detected)
    for name in ('one', 'two'):
        groups.apply(f'machine.slice/{name}.scope/libvirt',
                     budget.Budget(100_000, (20_000,) * 4))
    assert kernel.read('machine.slice/one.scope', hcbs.MAX) == 'max 0\n'
    assert kernel.read('machine.slice', hcbs.MAX) == '40000 100000\n'
    kernel_holds = survey.survey(detected, ('machine.slice',), {
        name: f'machine.slice/{name}.scope/libvirt' for name in ('one', 'two')})
    assert kernel_holds.kept == (0,) * 4
    kernel.stop(7)
    groups.take_back('machine.slice/one.scope/libvirt')
    assert kernel.read('machine.slice', hcbs.MAX) == '20000 100000\n'


def test_our_kernel_shows_minus_1_on_version_2_where_a_group_has_no_budget():
    kernel = fake_hcbs.FakeMultiKernel()
    kernel.make('one')
    detected = detect.detect(kernel, kernel.count)
    assert kernel.read('one', dialect.MULTI_RUNTIME) == '-1 -1 -1 -1\n'
    assert not detected.bounded('one')
    assert detected.read('one') == budget.Budget(1_000_000, (0,) * 4)
    detected.write('one', budget.Budget(100_000, (0, 20_000, 0, 0)))
    assert detected.bounded('one')
    assert detected.read('one') == budget.Budget(100_000, (0, 20_000, 0, 0))


@pytest.mark.parametrize('make', [
    fake_hcbs.FakeMaxKernel, fake_hcbs.FakeMultiKernel])
def test_the_group_of_containers_gets_a_budget_so_that_rt_init_waits_below_it(make):
    kernel = make()
    kernel.start(7, 'machine.slice/one.scope/libvirt')
    machine = host_with(kernel)
    machine.apply(7, holding(40_000, 3, 1))
    machine.reconcile([(7, holding(40_000, 3, 1))])
    detected = detect.detect(kernel, kernel.count)
    assert detected.bounded('machine.slice')
    assert (detected.read('machine.slice').bandwidths
            == detected.read('machine.slice/one.scope/libvirt').bandwidths)
    kernel.stop(7)
    machine.reconcile([])
    assert set(detected.read('machine.slice').runtimes_us) == {0}
    assert detected.bounded('machine.slice')


def test_a_group_of_containers_that_can_have_no_budget_yet_is_left_to_the_next_time():
    kernel = fake_hcbs.FakeMultiKernel()
    kernel.start(7, 'machine.slice/one.scope')
    machine = host_with(kernel)
    kernel.refuse_next = errno.EBUSY
    machine.reconcile([])
    assert 'machine.slice' in kernel.unbounded


@pytest.mark.parametrize('make', [
    fake_hcbs.FakeListKernel, fake_hcbs.FakeMaxKernel])
def test_the_pool_of_the_root_bounds_what_is_admitted(make):
    kernel = make()
    detected = detect.detect(kernel, kernel.count)
    kernel._groups[''].runtimes_us = [500_000] * 4
    assert detected.admitted() == bandwidth.BW_UNIT // 2
    kernel._groups[''].runtimes_us = [0] * 4
    with pytest.raises(errors.UnenforcedError, match='has a budget of 0'):
        detected.admitted()
