# SPDX-License-Identifier: Apache-2.0
"""How the demo judges shares that were measured on emulated pCPUs."""

import pytest

from demo import hcbs
from demo import shell
from stack.nodes import containers

RESERVED_US = (60_000, 0)
PERIOD_US = 200_000


def container(*shares, runtimes_us=RESERVED_US):
    return containers.Container(
        group='machine/b', dialect='hcbs-multi', period_us=PERIOD_US,
        runtimes_us=runtimes_us, pcpus=(0,), policies=frozenset(), shares=shares)


class Machine:
    """Measures; seconds of a container's time are missing or too much per window.

    :ivar windows: seconds of each measurement.
    """

    def __init__(self, moved=0.0, wrong=0.0):
        self.moved, self.wrong, self.windows = moved, wrong, []

    def look(self, seconds):
        self.windows.append(seconds)
        share = 0.3 + self.wrong + self.moved / seconds
        return {'b': container(share, 0.0)}


def test_one_window_is_enough_on_an_idle_machine():
    machine = Machine(moved=0.05)
    hcbs.must_hold(hcbs.measure(machine.look, hcbs.TOLERANCE), hcbs.TOLERANCE)
    assert machine.windows == [10]


@pytest.mark.parametrize(('moved', 'windows'), [
    (0.117, [10, 20]), (-0.117, [10, 20]), (0.5, [10, 20, 40, 80]),
    (1.5, [10, 20, 40, 80, 160])])
def test_a_busy_machine_is_measured_for_longer(moved, windows):
    machine = Machine(moved)
    hcbs.must_hold(hcbs.measure(machine.look, hcbs.TOLERANCE), hcbs.TOLERANCE)
    assert machine.windows == windows


@pytest.mark.parametrize('wrong', [-0.3, -0.012, 0.012, 0.65])
@pytest.mark.parametrize('moved', [0.0, 0.01])
def test_a_wrong_share_stays_wrong_however_long_it_is_measured(wrong, moved):
    machine = Machine(moved, wrong)
    with pytest.raises(shell.DemoError, match=r'Server b is .* it should be within 1'):
        hcbs.must_hold(hcbs.measure(machine.look, hcbs.TOLERANCE), hcbs.TOLERANCE)
    assert machine.windows == list(hcbs.WINDOWS)


def test_every_window_is_whole_periods():
    assert all(seconds * 1_000_000 % hcbs.PERIOD_US == 0 for seconds in hcbs.WINDOWS)


def test_a_container_without_a_reservation_is_not_judged():
    assert hcbs.farther({'noisy': container(0.9, 0.9, runtimes_us=(0, 0))}, 0.01) == []


def test_one_container_of_several_is_named():
    running = {'a': container(0.3, 0.0), 'b': container(0.3, 0.02)}
    assert hcbs.farther(running, 0.01) == ['b']
