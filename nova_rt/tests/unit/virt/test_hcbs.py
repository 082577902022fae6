# SPDX-License-Identifier: Apache-2.0
"""What is particular to HCBS on version 2; the rest is conformance."""

import errno

import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.testing import fake_hcbs
from nova_rt.virt import container_host
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hcbs
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup import survey


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
