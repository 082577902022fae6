# SPDX-License-Identifier: Apache-2.0
"""Who is stopped for a more critical server that misses its deadlines."""

import hypothesis
from hypothesis import strategies as st
from oslo_config import cfg
import pytest

from nova_rt import bandwidth
from nova_rt import conf
from nova_rt import elastic
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.criticality import Criticality
from nova_rt.reaction import victim

A, B, C = Criticality
CAP = bandwidth.fraction_to_bandwidth(0.9)
ME = 'me'


def resident(percents, *pcpus, rank=A, memory_mb=64, **said):
    return victim.Resident('project', ledger.Holding(
        reservation.Reservation(percents * 1000, 100_000, len(pcpus)), pcpus,
        elastic.Terms(rank)), memory_mb, **said)


def empty(pcpus=2, occupancy=shares.Occupancy.CHOSEN):
    return shares.HostShares.empty([CAP] * pcpus, occupancy)


def chosen(policy='share', most=CAP, host=None, me=None, lent=None, one_runtime=False, **others):
    return victim.choose(host or empty(), {
        ME: me or resident(30, 0, rank=C), **others}, ME, most, lent or {}, policy, one_runtime)


def test_the_least_critical_goes_first():
    assert chosen(b=resident(40, 0, rank=B), a=resident(10, 0)) == 'a'
    assert chosen(b=resident(40, 0, rank=B)) == 'b'


@pytest.mark.parametrize('stays', [
    resident(40, 0, rank=C), resident(40, 0, rank=None), resident(40, 1),
    resident(40, 0, may_go=False)])
def test_nobody_else_goes(stays):
    assert chosen(other=stays) is None


def test_nobody_goes_for_one_that_is_no_more_critical():
    for rank in (A, None):
        assert chosen(me=resident(30, 0, rank=rank), other=resident(40, 0)) is None


def test_nobody_goes_where_as_much_as_may_be_lent_is_free():
    other = resident(10, 0)
    assert chosen(most=bandwidth.to_bandwidth(50, 100), other=other) is None
    assert chosen(most=bandwidth.to_bandwidth(51, 100), other=other) == 'other'


def test_nobody_goes_whose_room_would_be_no_more_than_what_is_on_loan():
    most, other = bandwidth.to_bandwidth(25, 100), resident(60, 0)
    # Others may have been shrunk, so that there is more on loan than is free.
    assert chosen(most=most, lent={0: most}, other=other) is None
    assert chosen(most=most, lent={0: most - 20}, other=other) == 'other'
    # It cannot have less than a microsecond more.
    assert chosen(most=most, lent={0: most - 10}, other=other) is None
    small = resident(10, 0)
    assert chosen(lent={0: bandwidth.to_bandwidth(61, 100)}, other=small) is None
    # It has its own on each pCPU, and may lack it on one alone.
    both = resident(30, 0, 1, rank=C)
    assert chosen(most=most, me=both, lent={0: most}, other=other) is None
    assert chosen(most=most, me=both, lent={1: most}, other=other) == 'other'


def test_where_it_is_lent_the_same_on_each_pcpu_only_who_is_on_the_fullest_goes():
    others = {'me': resident(30, 0, 1, rank=C), 'large': resident(35, 0),
              'critical': resident(40, 1, rank=C)}
    small = resident(10, 1)
    assert chosen(small=small, **others) == 'large'
    assert chosen(small=small, one_runtime=True, **others) == 'small'
    assert chosen(one_runtime=True, **others) is None


def test_by_share_it_is_who_holds_most_of_these_pcpus():
    assert chosen(much=resident(25, 0, 1), more=resident(30, 0)) == 'more'
    # Where a reservation occupies every pCPU, all of it counts.
    assert chosen(host=empty(occupancy=shares.Occupancy.EVERY), me=resident(20, 0, rank=C),
                  much=resident(16, 0, 1), more=resident(30, 0)) == 'much'


def test_by_share_and_memory_both_count():
    held = {'much': resident(30, 0, memory_mb=100), 'both': resident(25, 0, memory_mb=200)}
    assert chosen('share', **held) == 'much'
    assert chosen('share-and-memory', **held) == 'both'


def test_apart_leaves_those_who_talk_to_the_last():
    net = frozenset(['net'])
    me = resident(10, 0, rank=C, networks=net)
    talks, alone = resident(30, 0, networks=net), resident(20, 0)
    assert chosen('share', me=me, talks=talks, alone=alone) == 'talks'
    assert chosen('apart', me=me, talks=talks, alone=alone) == 'alone'
    assert chosen('apart', me=me, talks=talks) == 'talks'
    # What others than more critical ones of its project use is no reason.
    assert chosen('apart', talks=talks, alone=alone,
                  peer=resident(10, 1, networks=net)) == 'talks'


def test_the_option_has_these_policies():
    options = cfg.ConfigOpts()
    conf.register_opts(options)
    options([])
    for policy in victim.POLICIES:
        options.set_override('evict_choice', policy, group='rt')
    assert len(victim.POLICIES) == 3


@st.composite
def residents(draw, pcpus):
    return resident(
        draw(st.integers(1, 60)), *sorted(draw(st.sets(st.integers(0, pcpus - 1), min_size=1))),
        rank=draw(st.sampled_from([A, B, C, None])), memory_mb=draw(st.integers(0, 9)),
        may_go=draw(st.booleans()), networks=frozenset(draw(st.sets(st.sampled_from('xy')))))


@hypothesis.given(st.data())
def test_whoever_goes_may_and_lets_more_be_lent(data):
    pcpus = data.draw(st.integers(1, 3))
    host = empty(pcpus, data.draw(st.sampled_from(shares.Occupancy)))
    held = {str(number): data.draw(residents(pcpus)) for number in range(
        data.draw(st.integers(0, 5)))}
    held[ME] = me = data.draw(residents(pcpus))
    most = data.draw(st.integers(0, CAP))
    lent = data.draw(st.dictionaries(st.integers(0, pcpus - 1), st.integers(1, CAP)))

    def lendable(besides=None):
        left = host.add_all(
            (each.holding.reservation.bandwidth, each.holding.pcpus)
            for server, each in held.items() if server != besides).left
        return [min(most, max(0, left[pcpu], lent.get(pcpu, 0))) for pcpu in me.holding.pcpus]

    def gains(server):
        return any(after - before > 11 for before, after in zip(
            lendable(), lendable(server), strict=True))

    helpful = {
        server for server, each in held.items()
        if me.said and each.said and each.said < me.said and each.may_go
        and gains(server)}
    for policy in victim.POLICIES:
        found = victim.choose(host, held, ME, most, lent, policy)
        assert (found in helpful) if helpful else found is None
        if found:
            assert held[found].said == min(held[each].said for each in helpful)
            assert held[found].said is not C
