# SPDX-License-Identifier: Apache-2.0
"""From when to when threads ran, as a node's kernel traced it."""

from stack.nodes import machines_task

# A window that begins at 100 s; in what follows, 9 is no vCPU, 0 the idle task.
BEGAN_US = 100_000_000


def trace(*switches):
    return ''.join(
        f'  a-{before}  [000] d..2.   {at}: sched_switch: prev_comm=a prev_pid={before} '
        f'prev_prio=-1 prev_state=R ==> next_comm=b next_pid={after} next_prio=120\n'
        for at, before, after in switches)


def turns(*switches):
    return machines_task.turns_in(trace(*switches), [7, 8], BEGAN_US)


def test_a_turn_is_from_switch_to_switch():
    assert turns(('100.500000', 0, 7), ('101.000000', 7, 8), ('101.250000', 8, 9)) == {
        7: [(500_000, 1_000_000)], 8: [(1_000_000, 1_250_000)]}


def test_one_that_stops_first_ran_when_the_window_began():
    assert turns(('100.500000', 7, 0))[7] == [(0, 500_000)]


def test_what_runs_between_two_vcpus_is_nobodys_turn():
    assert turns(('100.000010', 7, 9), ('100.000030', 9, 8), ('100.000040', 8, 0)) == {
        7: [(0, 10)], 8: [(30, 40)]}


def test_a_turn_ends_with_the_window():
    late = 100 + machines_task.SECONDS
    assert turns((f'{late - 1:.6f}', 0, 7), (f'{late + 1:.6f}', 7, 0))[7] == [
        (9_000_000, 10_000_000)]
    assert turns((f'{late + 0.5:.6f}', 0, 7), (f'{late + 1:.6f}', 7, 0))[7] == []
