# SPDX-License-Identifier: Apache-2.0

import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import fitting
from nova_rt import shares
from nova_rt.reservation import Reservation
from nova_rt.shares import HostShares
from nova_rt.shares import Occupancy
from nova_rt.tests.unit import strategies

CAP = strategies.CAP


def percent(share, vcpus=1):
    return Reservation(share * 1000, 100000, vcpus)


def place(host, wanted, policy='worst-fit'):
    pcpus = fitting.place(host, wanted, policy)
    return pcpus, host.add(wanted, pcpus)


def figure_5():
    """The host of Figure 5 of the OpenStack paper (section 5.2), filled."""
    host = HostShares.empty((CAP,) * 4)
    chosen = []
    for wanted in (percent(50, 2), percent(30), percent(40, 3)):
        pcpus, host = place(host, wanted)
        chosen.append(pcpus)
    return chosen, host


def test_worst_fit_places_figure_5_of_the_paper():
    chosen, _ = figure_5()
    assert chosen == [(0, 1), (2,), (3, 2, 0)]


def test_the_75_percent_of_figure_5_is_refused_saying_what_lacked_where():
    _, host = figure_5()
    with pytest.raises(fitting.NoRoomError) as miss:
        fitting.place(host, percent(75))
    assert str(miss.value) == (
        '75% is needed on each of 1 pCPU(s), but only 0 of 4 have that much '
        'left: pCPU 3 has 55% left and lacks 20%')
    assert miss.value.missing == percent(75).bandwidth - host.left[3]


def test_the_sum_left_in_figure_5_would_not_have_shown_it():
    _, host = figure_5()
    assert host.rt_share - host.rt_share_used > percent(75).share


def test_moving_a_part_of_container_3_makes_room_as_the_paper_says():
    _, host = figure_5()
    host = host.remove(percent(40), (3,)).add(percent(40), (1,))
    assert fitting.place(host, percent(75)) == (3,)


def test_policies_differ_in_what_they_prefer():
    host = HostShares.empty((CAP,) * 4)
    for share, pcpu in ((30, 0), (60, 1), (45, 2)):
        host = host.add(percent(share), (pcpu,))
    wanted = percent(20, 2)
    assert fitting.place(host, wanted, 'worst-fit') == (3, 0)
    assert fitting.place(host, wanted, 'best-fit') == (1, 2)
    assert fitting.place(host, wanted, 'first-fit') == (0, 1)
    assert fitting.place(host, wanted) == (3, 0)


def test_least_fragmentation_keeps_room_for_the_usual_size():
    host = HostShares.empty((CAP,) * 4)
    for share, pcpu in ((40, 0), (50, 1), (50, 2), (50, 3)):
        host = host.add(percent(share), (pcpu,))
    # Only pCPU 0 has room for another 50%.
    assert fitting.place(host, percent(20), 'worst-fit') == (0,)
    assert fitting.place(host, percent(20), 'least-fragmentation') == (1,)


def test_least_fragmentation_prefers_a_pcpu_that_keeps_all_it_has_room_for():
    host = HostShares.empty((CAP,) * 4)
    for share, pcpu in ((50, 0), (75, 1), (20, 2), (20, 2), (75, 3)):
        host = host.add(percent(share), (pcpu,))
    # Only pCPU 2, with 55% left, has room for another 50%.
    assert fitting.place(host, percent(20), 'worst-fit') == (2,)
    assert fitting.place(host, percent(20), 'least-fragmentation') == (0,)


def test_a_size_that_the_host_has_not_held_yet_is_not_kept_room_for():
    host = HostShares.empty((CAP,) * 4)
    for _ in range(4):
        _, host = place(host, percent(20), 'least-fragmentation')
    with pytest.raises(fitting.NoRoomError):
        fitting.place(host, percent(80))


@pytest.mark.parametrize('policy', sorted(fitting.POLICIES))
def test_lower_index_wins_at_a_tie(policy):
    host = HostShares.empty((0, CAP, CAP, CAP))
    assert fitting.place(host, percent(10, 2), policy) == (1, 2)


def test_unknown_policy_is_an_error():
    with pytest.raises(KeyError, match='next-fit'):
        fitting.place(HostShares.empty((CAP,)), percent(10), 'next-fit')


def test_exactly_what_is_left_fits_and_a_hair_more_does_not():
    host = HostShares.empty((CAP,))
    exact = Reservation(950000, 1000000, 1)
    _, full = place(host, exact)
    assert full.left == (0,)
    with pytest.raises(fitting.NoRoomError):
        fitting.place(host, Reservation(950001, 1000000, 1))


@pytest.mark.parametrize(('capacity', 'vcpus', 'sentence'), [
    ((), 1, 'no pCPU of the host may hold reservations'),
    ((0, 0), 1, 'no pCPU of the host may hold reservations'),
    ((CAP, 0, CAP), 3, '3 distinct pCPUs are needed, but the host has 2 '
                       'that may hold reservations')])
def test_too_few_pcpus_is_said_before_too_little_bandwidth(
        capacity, vcpus, sentence):
    with pytest.raises(fitting.NoRoomError) as miss:
        fitting.place(HostShares.empty(capacity), percent(50, vcpus))
    assert str(miss.value) == sentence
    assert miss.value.missing == percent(50).bandwidth


def test_every_vcpu_must_find_room_and_not_only_some():
    host = HostShares.empty((CAP, CAP, CAP)).add(percent(90), (1,))
    with pytest.raises(fitting.NoRoomError, match=(
            r'each of 3 .* only 2 of 3 .* pCPU 1 has 5% left and lacks 5%')):
        fitting.place(host, percent(10, 3))


def test_where_every_pcpu_is_occupied_the_load_is_spread_all_the_same():
    host = HostShares.empty((CAP,) * 3, Occupancy.EVERY)
    chosen = []
    for _ in range(3):
        pcpus, host = place(host, percent(30))
        chosen.append(pcpus)
    assert chosen == [(0,), (1,), (2,)]
    with pytest.raises(fitting.NoRoomError):
        fitting.place(host, percent(30))


@given(strategies.hosts(), strategies.reservations(), strategies.policy_names)
def test_place_finds_distinct_fitting_pcpus_if_and_only_if_there_are(
        host, wanted, policy):
    with_room = {pcpu for pcpu, left in enumerate(host.left)
               if left >= wanted.bandwidth}
    if len(with_room) < wanted.vcpus:
        with pytest.raises(fitting.NoRoomError) as refused:
            fitting.place(host, wanted, policy)
        miss = fitting.shortfall(host, wanted)
        assert miss.missing == refused.value.missing > 0
        assert str(miss) == str(refused.value)
    else:
        pcpus = fitting.place(host, wanted, policy)
        assert len(pcpus) == len(set(pcpus)) == wanted.vcpus
        assert with_room.issuperset(pcpus)
        assert fitting.shortfall(host, wanted) is None


@given(strategies.capacities, strategies.occupancies, st.lists(st.tuples(
    strategies.reservations(), strategies.policy_names), max_size=30))
def test_no_pcpu_that_holds_reservations_is_ever_over_its_capacity(
        capacity, occupancy, requests):
    host = HostShares.empty(capacity, occupancy)
    for wanted, policy in requests:
        try:
            _, host = place(host, wanted, policy)
        except fitting.NoRoomError:
            continue
        for most, used, pinned in zip(
                host.capacity, host.used, host.pinned, strict=True):
            assert used <= most or not most
            assert pinned <= most


@given(strategies.hosts(), strategies.reservations())
def test_whatever_fits_under_one_policy_fits_under_all(host, wanted):
    fits = set()
    for policy in fitting.POLICIES:
        try:
            fitting.place(host, wanted, policy)
            fits.add(True)
        except fitting.NoRoomError:
            fits.add(False)
    assert len(fits) == 1


@given(st.lists(strategies.bandwidths, min_size=1, max_size=7),
       strategies.reservations(max_vcpus=4))
def test_worst_fit_leaves_the_fullest_pcpu_as_much_as_any_choice_could(
        capacity, wanted):
    host = HostShares.empty(capacity)
    choices = [choice for choice in itertools.combinations(
        range(len(capacity)), wanted.vcpus)
        if all(capacity[pcpu] >= wanted.bandwidth for pcpu in choice)]
    if not choices:
        return
    chosen = fitting.place(host, wanted, 'worst-fit')
    best = max(min(capacity[pcpu] for pcpu in choice) for choice in choices)
    assert min(capacity[pcpu] for pcpu in chosen) == best


@given(strategies.hosts(), strategies.reservations())
def test_best_fit_and_first_fit_are_optimal_too(host, wanted):
    with_room = [pcpu for pcpu, left in enumerate(host.left)
               if left >= wanted.bandwidth]
    if len(with_room) < wanted.vcpus or host.occupancy is Occupancy.EVERY:
        return
    tightest = fitting.place(host, wanted, 'best-fit')
    assert (sorted(host.left[pcpu] for pcpu in tightest)
            == sorted(host.left[pcpu] for pcpu in with_room)[:wanted.vcpus])
    assert (fitting.place(host, wanted, 'first-fit')
            == tuple(with_room[:wanted.vcpus]))


def cost(host, pcpu, wanted):
    """What it costs the sizes that a host holds to use a pCPU, one by one."""
    before = host.left[pcpu] >> shares.SIZE_SHIFT
    after = host.left[pcpu] - wanted.bandwidth >> shares.SIZE_SHIFT
    price = 0
    for size in range(after + 1, before + 1):
        fitting = sum(left >> shares.SIZE_SHIFT >= size for left in host.left)
        if fitting <= sum(map(bool, host.capacity)) // 4:
            price += (host.sizes[size] << 20) // (1 + fitting)
    return price


@given(strategies.hosts(), strategies.reservations())
def test_least_fragmentation_takes_the_cheapest_then_as_worst_fit(host, wanted):
    with_room = [pcpu for pcpu, left in enumerate(host.left)
                 if left >= wanted.bandwidth]
    if len(with_room) < wanted.vcpus or host.occupancy is Occupancy.EVERY:
        return
    assert fitting.place(host, wanted, 'least-fragmentation') == tuple(sorted(
        with_room, key=lambda pcpu: (
            cost(host, pcpu, wanted), -host.left[pcpu], pcpu))[:wanted.vcpus])


@given(strategies.hosts(), strategies.reservations())
def test_where_nothing_can_be_spoiled_least_fragmentation_is_worst_fit(
        host, wanted):
    if host.occupancy is not Occupancy.EVERY:
        host = HostShares(host.capacity, host.used, host.pinned)
    if fitting.shortfall(host, wanted) is None:
        assert (fitting.place(host, wanted, 'least-fragmentation')
                == fitting.place(host, wanted, 'worst-fit'))


@given(strategies.hosts(), st.lists(strategies.reservations(), max_size=6),
       strategies.reservations(), strategies.reservations(),
       strategies.policy_names, st.data())
def test_a_choice_does_not_depend_on_the_order_in_which_a_host_was_filled(
        host, several, passing, wanted, policy, data):
    pcpus = st.sets(st.integers(0, 11), min_size=1)
    changes = [(reserved, data.draw(pcpus)) for reserved in several]
    one, another = host, host.add(passing, (0, 1))
    for reserved, chosen in changes:
        one = one.add(reserved, chosen)
    for reserved, chosen in data.draw(st.permutations(changes)):
        another = another.add(reserved, chosen)
    another = another.remove(passing, (0, 1))
    assert one == another
    if fitting.shortfall(one, wanted) is None:
        assert (fitting.place(one, wanted, policy)
                == fitting.place(another, wanted, policy))


@given(strategies.hosts(), strategies.reservations(), strategies.policy_names)
def test_the_scheduler_foresees_what_the_claim_will_choose(
        host, wanted, policy):
    if host.occupancy is Occupancy.EVERY or fitting.shortfall(host, wanted):
        return
    seen = shares.from_stats(shares.to_stats(
        host, policy in fitting.WEIGHING_SIZES))
    assert seen is None or (fitting.place(seen, wanted, policy)
                            == fitting.place(host, wanted, policy))


@given(st.lists(strategies.bandwidths, max_size=8), strategies.reservations())
def test_what_is_missing_is_enough_to_add_one_more_pcpu(capacity, wanted):
    host = HostShares.empty(capacity)
    usable = sum(1 for share in capacity if share)
    if usable < wanted.vcpus:
        return
    try:
        fitting.place(host, wanted)
    except fitting.NoRoomError as miss:
        raised = HostShares.empty(
            [share and share + miss.missing for share in capacity])

        def pcpus_with_room(left):
            return sum(1 for free in left if free >= wanted.bandwidth)
        assert pcpus_with_room(raised.left) > pcpus_with_room(host.left)


@given(strategies.hosts(), strategies.reservations(),
       strategies.reservations())
def test_in_place_is_what_fits_where_the_old_was_taken_away(
        host, held, wanted):
    wanted = Reservation(wanted.runtime_us, wanted.period_us, held.vcpus)
    try:
        pcpus = fitting.place(host, held)
    except fitting.NoRoomError:
        return
    now = host.add(held, pcpus)
    try:
        fitting.check_in_place(now, held, pcpus, wanted)
        fits = True
    except fitting.NoRoomError:
        fits = False
    then = now.remove(held, pcpus)
    assert fits == (wanted.bandwidth <= held.bandwidth or all(
        then.left[pcpu] >= wanted.bandwidth for pcpu in pcpus))


def test_what_lacks_in_place_is_told():
    host = HostShares.empty((CAP,) * 2).add(percent(60, 2), (0, 1))
    with pytest.raises(fitting.NoRoomError) as miss:
        fitting.check_in_place(
            host.add(percent(20), (1,)), percent(20), (1,), percent(50))
    assert str(miss.value) == (
        '30% more is needed on pCPU 1, which has 15% left')


def test_a_pcpu_that_the_host_has_lost_has_nothing_left_in_place():
    host = HostShares.empty((CAP,) * 2)
    fitting.check_in_place(host, percent(50), (7,), percent(40))
    with pytest.raises(fitting.NoRoomError, match='pCPU 7'):
        fitting.check_in_place(host, percent(50), (7,), percent(60))


@given(strategies.hosts(), strategies.reservations(), strategies.policy_names,
       st.integers(0, 20))
def test_as_many_are_counted_as_can_be_placed_one_after_the_other(
        host, wanted, policy, most):
    filled, placed = fitting.fill(host, wanted, policy, most)
    assert fitting.count(host, wanted, policy, most) == placed
    assert placed == most or fitting.shortfall(filled, wanted)
