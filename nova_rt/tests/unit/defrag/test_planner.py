# SPDX-License-Identifier: Apache-2.0

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import fitting
from nova_rt import ledger
from nova_rt.defrag import exact
from nova_rt.defrag import planner
from nova_rt.defrag import search
from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import Layout
from nova_rt.defrag.layout import Move
from nova_rt.defrag.layout import MoveError
from nova_rt.reservation import Reservation
from nova_rt.shares import HostShares
from nova_rt.shares import Occupancy
from nova_rt.tests.unit import strategies
from nova_rt.tests.unit.defrag import hosts

CAP = strategies.CAP
SECONDS = 600


def percent(share, vcpus=1):
    return Reservation(share * 1000, 100000, vcpus)


def held(pcpus, *reservations):
    """A host with reservations placed by worst-fit, and what each holds, by number."""
    host, holdings = HostShares.empty((CAP,) * pcpus), {}
    for number, wanted in enumerate(reservations, 1):
        chosen = fitting.place(host, wanted)
        host = host.add(wanted, chosen)
        holdings[str(number)] = ledger.Holding(wanted, chosen)
    return host, holdings


# Figure 5 of the OpenStack paper (section 5.2).
FIGURE_5 = held(4, percent(50, 2), percent(30), percent(40, 3))


def test_the_papers_example_moves_container_3_from_cpu_3_to_cpu_1():
    plan = planner.room(*FIGURE_5, percent(75))
    assert plan.moves == (Move('3', 3, 1, percent(40).bandwidth),)
    assert plan.proven
    assert planner.fewest(*FIGURE_5, Goal.room_for(percent(75)), SECONDS) == plan


def test_after_the_papers_move_the_75_percent_fit_cpu_3():
    plan = planner.room(*FIGURE_5, percent(75))
    host = FIGURE_5[0].remove(percent(40), (3,)).add(percent(40), (1,))
    assert plan.after.left == host.left
    assert fitting.place(host, percent(75)) == (3,)


def test_what_is_missing_in_the_holdings_is_not_moved():
    host, holdings = FIGURE_5
    assert planner.room(host, {'2': holdings['2']}, percent(75)) is None


def test_planning_for_a_claim_loads_no_solver():
    code = ('import sys\nfrom nova_rt.defrag import planner\n'
            'assert "ortools" not in sys.modules')
    subprocess.run([sys.executable, '-c', code], check=True)


def test_a_reservation_that_fits_needs_no_move():
    assert planner.room(*FIGURE_5, percent(55)).moves == ()


def test_where_a_reservation_occupies_every_pcpu_there_is_no_plan():
    host = HostShares.empty((CAP, CAP), Occupancy.EVERY)
    assert planner.room(host, {}, percent(75)) is None
    with pytest.raises(MoveError, match='one runtime for all pCPUs'):
        planner.balance(host, {})
    with pytest.raises(MoveError, match='one runtime for all pCPUs'):
        planner.fewest(host, {}, Goal(1, 1), SECONDS)


def test_what_no_moves_can_do_is_refused_with_a_sentence():
    with pytest.raises(planner.NoPlanError) as none:
        planner.fewest(*FIGURE_5, Goal.room_for(percent(75, 2)), SECONDS, 5)
    assert str(none.value) == 'No plan of at most 5 moves makes this room.'
    assert none.value.proven


def unfound(monkeypatch):
    monkeypatch.setattr(search, 'find', lambda *args: None)
    return pytest.raises(planner.NoPlanError)


def test_what_was_not_found_in_time_is_not_called_impossible(monkeypatch):
    with unfound(monkeypatch) as none:
        planner.fewest(*FIGURE_5, Goal.room_for(percent(75)), 0, 5)
    assert str(none.value) == (
        'No plan of at most 5 moves was found; there may be one: '
        'more than 0 s may tell.')
    assert not none.value.proven


def test_without_or_tools_the_quick_search_plans_and_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(exact, 'AVAILABLE', False)
    start = hosts.layout((20, 20, 20), {
        'a': (10, (0,)), 'b': (6, (1,)), 'c': (9, (1,)), 'd': (13, (2,))})
    monkeypatch.setattr(Layout, 'of', lambda *args: start)
    plan = planner.fewest(*FIGURE_5, Goal(20, 1), SECONDS)
    assert len(plan.moves) == 2
    assert planner.proof(plan, SECONDS) == (
        'Every plan has at least 1 move(s); whether fewer than 2 suffice is not known: '
        "OR-tools is needed to tell, so install 'nova-rt[defrag]'.")
    with unfound(monkeypatch) as none:
        planner.fewest(*FIGURE_5, Goal(20, 1), SECONDS)
    assert "install 'nova-rt[defrag]'" in str(none.value)


def test_a_proven_plan_is_said_to_be():
    plan = planner.room(*FIGURE_5, percent(75))
    assert planner.proof(plan, SECONDS) == 'No plan has fewer moves.'


def test_balance_takes_load_from_the_fullest_pcpu():
    host, holdings = held(3, percent(30), percent(20), percent(20), percent(20))
    host = host.remove(percent(20), holdings['4'].pcpus).add(percent(20), (0,))
    holdings['4'] = ledger.Holding(percent(20), (0,))
    plan = planner.balance(host, holdings)
    assert plan.moves == (Move('4', 0, 1, percent(20).bandwidth),)
    assert min(plan.after.left) == CAP - 2 * percent(20).bandwidth


def test_a_host_that_is_balanced_is_left_alone():
    for case in (held(2, percent(30), percent(30)), held(0), held(2)):
        assert planner.balance(*case).moves == ()


@st.composite
def random_hosts(draw):
    """A host of reservations on pCPUs that nobody chose well."""
    host, holdings = HostShares.empty((CAP,) * draw(st.integers(1, 6))), {}
    for number in range(draw(st.integers(0, 9))):
        wanted = percent(draw(st.integers(5, 80)), draw(st.integers(1, 3)))
        fits = [pcpu for pcpu, left in enumerate(host.left) if left >= wanted.bandwidth]
        if len(fits) >= wanted.vcpus:
            chosen = tuple(draw(st.permutations(fits))[:wanted.vcpus])
            host = host.add(wanted, chosen)
            holdings[str(number)] = ledger.Holding(wanted, chosen)
    return host, holdings


@given(random_hosts(), st.integers(5, 95), st.integers(1, 3))
def test_the_reservation_fits_after_the_plan(case, share, vcpus):
    host, holdings = case
    wanted = percent(share, vcpus)
    plan = planner.room(host, holdings, wanted)
    if plan is None:
        assert fitting.shortfall(host, wanted) is not None
        return
    hosts.check(Layout.of(host, holdings), Goal.room_for(wanted), plan.moves)
    after = HostShares.empty(host.capacity).add_all(
        (server.bandwidth, server.pcpus) for server in plan.after.servers.values())
    assert after.left == plan.after.left
    assert fitting.shortfall(after, wanted) is None


@given(random_hosts())
def test_balance_leaves_the_fullest_pcpu_more(case):
    host, holdings = case
    plan = planner.balance(host, holdings)
    assert bool(plan.moves) == (min(plan.after.left) > min(host.left))
    hosts.check(Layout.of(host, holdings), plan.goal, plan.moves)
