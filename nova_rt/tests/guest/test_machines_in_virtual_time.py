# SPDX-License-Identifier: Apache-2.0
"""Virtual machines on Debian's own kernel, where time does not depend on the machine.

Three on one pCPU, with 30%, 20% and 25%, beside nothing, a SCHED_OTHER and a SCHED_FIFO
hog; turns end at the tick, then by a timer.
"""

import pytest

from nova_rt.testing import full
from stack import prerequisites
from stack import supply
from stack.nodes import alone
from stack.nodes import machines_task

pytestmark = full.only

# Of a pCPU: in the whole window, and in a second.
EXACT = 0.001
TOLERANCE = 0.003


@pytest.fixture(scope='module')
def found(tmp_path_factory):
    """When the vCPUs ran."""
    if reason := prerequisites.missing_for_nodes():
        pytest.skip(reason)
    return alone.machines(tmp_path_factory.mktemp('a'))


def test_the_kernel_is_debians_for_clouds(found):
    assert found.kernel.endswith('-cloud-amd64')


def test_turns_end_at_the_tick_and_then_by_a_timer(found):
    assert ([(window.is_exact, window.beside) for window in found.windows]
            == [(is_exact, beside) for is_exact in (False, True)
                for beside in machines_task.HOGS])


def test_each_vcpu_gets_what_is_reserved_within_a_tenth_of_a_point(found):
    """And a tick at either end of the window, where the tick ends turns.

    There, a vCPU that waits for QEMU beside nothing may get more: when it sleeps long enough,
    the kernel forgets by how much its turn was too long.
    """
    for window, vcpu in all_of(found):
        got = vcpu.supply.share()
        print(named(window, vcpu), f'{100 * got:.3f}%')
        tolerance = EXACT + 2 * late(found, window) / machines_task.SECONDS
        assert got > vcpu.reserved - tolerance
        if window.is_exact or window.beside != 'nothing':
            assert got < vcpu.reserved + tolerance


def test_no_hog_takes_what_is_reserved_in_any_second_of_whole_periods(found):
    """As on a machine of its own (``cloud_of_machines/test_shares.py``)."""
    for window, vcpu in beside_hogs(found):
        worst = vcpu.supply.in_whole_periods(vcpu.period_us)
        print(named(window, vcpu), f'{100 * worst:.3f}%')
        assert worst > vcpu.reserved - TOLERANCE - late(found, window)


def test_any_second_has_what_the_model_promises(found):
    for window, vcpu in beside_hogs(found):
        anywhere = vcpu.supply.in_any_second()
        print(named(window, vcpu), f'{100 * anywhere:.3f}%')
        assert anywhere > (supply.promised(vcpu.runtime_us, vcpu.period_us)
                           - EXACT - late(found, window))


def all_of(found):
    return [(window, vcpu) for window in found.windows for vcpu in window.vcpus]


def beside_hogs(found):
    """Beside nothing, vCPUs wait for QEMU's other threads, and their periods move."""
    return [(window, vcpu) for window, vcpu in all_of(found) if window.beside != 'nothing']


def late(found, window):
    """Return by how many seconds the kernel may end a turn too late."""
    return 0 if window.is_exact else found.tick_us / supply.SECOND_US


def named(window, vcpu):
    return (f'{vcpu.runtime_us}/{vcpu.period_us} beside {window.beside}, '
            f'{"timer" if window.is_exact else "tick"}:')
