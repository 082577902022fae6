# SPDX-License-Identifier: Apache-2.0
"""pCPUs drawn as bars."""

from nova_rt import bandwidth
from nova_rt import bars

CAP = bandwidth.fraction_to_bandwidth(0.95)


def share(percent):
    return bandwidth.to_bandwidth(percent, 100)


def bar(left, **held):
    return bars.bar(3, CAP, left, [(name, share(percent)) for name, percent in held.items()])


def test_it_shows_who_holds_how_much_and_what_is_left():
    assert bar(share(25), web=30, db=40) == (
        'pCPU 3 [####web 30%###########db 40%#######..left 25%..] cap 95%')


def test_an_empty_pcpu_is_all_left():
    assert bar(CAP) == f'pCPU 3 [{"left 95%".center(47, ".")}] cap 95%'


def test_a_name_that_is_too_long_for_its_part_is_cut():
    assert bar(share(85), **{'database-of-the-orders': 10}) == (
        f'pCPU 3 [datab{"left 85%".center(42, ".")}] cap 95%')


def test_what_other_pcpus_occupy_here_is_blank():
    assert 'other pCPUs 30%' in bar(share(35), web=30)


def test_a_pcpu_that_holds_more_than_its_cap_is_drawn_too():
    assert bar(-share(5), web=100) == (
        f'pCPU 3 [{"web 100%".center(50, "#")}] cap 95%')
