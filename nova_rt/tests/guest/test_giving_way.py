# SPDX-License-Identifier: Apache-2.0
"""On our kernel, an elastic container gives way to a critical one that misses its deadlines.

Time does not depend on the machine. Each has a hog on each of its pCPUs, one of which all have.
"""

import numpy as np
import pytest

from demo import hcbs
from nova_rt.testing import full
from nova_rt.tests.guest import windows
from stack import prerequisites
from stack.nodes import alone

pytestmark = full.only

# Of a pCPU: what a runtime of whole µs loses.
ROUNDED = 0.001
# The four emulated pCPUs take turns: one that waits for its own is charged for that time.
SLIPS_US = 10_000


@pytest.fixture(scope='module')
def found(tmp_path_factory):
    if reason := prerequisites.missing_for_nodes():
        pytest.skip(reason)
    return alone.giving_way(tmp_path_factory.mktemp('g'))


def by_phase(found, position):
    """Return what the kernel held for a container before, meanwhile and afterwards, in µs."""
    name = found['names'][position]
    return [found['phases'][phase][name]['runtimes_us']
            for phase in ('before', 'meanwhile', 'afterwards')]


def test_the_elastic_one_has_its_least_where_it_is_needed_and_then_all_again(found):
    pcpu = found['pcpu']
    before, meanwhile, afterwards = by_phase(found, 0)
    assert before == [9_000] * 4
    assert meanwhile == [2_000 if each == pcpu else 9_000 for each in range(4)]
    assert afterwards == before
    assert found['notes'] == []
    assert [found['held'][name] for name in found['names']] == [
        by_phase(found, position)[0] for position in range(3)]


def test_the_critical_one_has_what_that_leaves_and_the_neighbour_what_it_had(found):
    before, meanwhile, afterwards = by_phase(found, 2)
    free = found['capacity'][found['pcpu']] - 2_000 / 20_000 - 4_000 / 40_000
    assert sorted(before) == sorted(afterwards) == [0, 0, 0, 8_000]
    assert meanwhile[found['pcpu']] / 25_000 == pytest.approx(free, abs=ROUNDED)
    assert meanwhile[found['pcpu']] / 25_000 <= free
    assert by_phase(found, 1) == [[4_000] * 4] * 3


@pytest.mark.parametrize('phase', ['before', 'meanwhile', 'afterwards'])
def test_each_gets_what_the_book_says_by_the_kernels_own_account(found, phase):
    for name in found['names']:
        each = found['phases'][phase][name]
        reserved = [runtime_us / each['period_us'] for runtime_us in each['runtimes_us']]
        print(phase, name, 'reserved', [f'{share:.2%}' for share in reserved],
              'got', [f'{share:.2%}' for share in each['shares']])
        assert each['shares'] == pytest.approx(reserved, abs=hcbs.EXACT)


def test_both_are_told(found):
    elastic, _, critical = found['names']
    assert {(server, sentence.partition(':')[0]) for server, sentence in found['told']} == {
        (critical, 'It missed 3 deadlines or more within 1 s'),
        (elastic, 'A more critical server misses deadlines on its pCPUs'),
        (critical, 'What was lent to it has been given back.'),
        (elastic, 'It has all of its reservation again.')}


def test_what_one_could_still_use_is_nobodys(found):
    """Whenever one is given more, all have no more than the cap together.

    One that has less than before counts as if it had not for a period (the zero-lag time).
    """
    took = 1000 * np.array(found['changed'])
    print(f'{len(took)} times: to lend took {took[:, 0].min():.0f} to {took[:, 0].max():.0f} ms, '
          f'to take back {took[:, 1].min():.0f} to {took[:, 1].max():.0f} ms')
    sums = [sum(counted(other, began) if other is not each else runtime_us / period_us
                for other in found['writes'].values())
            for each in found['writes'].values()
            for began, _, period_us, runtime_us in each[1:]]
    print(f'{len(sums)} writes, at most {max(sums):.4f} of a pCPU, the cap is '
          f'{found["capacity"][found["pcpu"]]:.4f}')
    assert len(sums) >= 4 * len(took)
    assert max(sums) <= found['capacity'][found['pcpu']]


def counted(writes, now):
    """Return the largest bandwidth that one had within its last period."""
    most = 0.0
    for (began, _, period_us, runtime_us), until in zip(
            writes, [*(ended for _, ended, _, _ in writes[1:]), float('inf')], strict=True):
        if began <= now < until + period_us:
            most = max(most, runtime_us / period_us)
    return most


def test_meanwhile_none_gets_less_than_it_can_rely_on(found):
    """In every window, the critical one its reservation, as the neighbour; the other its least."""
    lacks = {}
    for name, (runtime_us, period_us) in zip(
            found['names'], ((2_000, 20_000), (4_000, 40_000), (8_000, 25_000)), strict=True):
        lacks[name] = windows.most_lacking(
            np.array(found['samples'][name]), windows.supplied(runtime_us, period_us, 1)
            ), windows.late(runtime_us, 1) + SLIPS_US
    print('most lacking in a window, and what may be late, in µs:', lacks)
    assert [name for name, (lack, late) in lacks.items() if lack > late] == []
