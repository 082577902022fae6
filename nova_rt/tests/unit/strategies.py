# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for reservations and hosts."""

from hypothesis import strategies as st

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares

CAP = bandwidth.fraction_to_bandwidth(0.95)

occupancies = st.sampled_from(shares.Occupancy)
policy_names = st.sampled_from(sorted(fitting.POLICIES))
bandwidths = st.integers(0, bandwidth.BW_UNIT)
capacities = st.lists(
    st.one_of(st.just(CAP), st.just(0), bandwidths), max_size=12)


@st.composite
def reservations(draw, max_vcpus=6):
    """Any reservation that can be."""
    period = draw(st.integers(bandwidth.MIN_PERIOD_US,
                              bandwidth.MAX_PERIOD_US))
    # Below this the bandwidth would round down to nothing.
    least = max(bandwidth.MIN_RUNTIME_US, bandwidth.runtime_covering(1, period))
    return reservation.Reservation(
        draw(st.integers(least, period)), period,
        draw(st.integers(1, max_vcpus)))


@st.composite
def hosts(draw):
    """A host with whatever the placement policies put on it."""
    host = shares.HostShares.empty(draw(capacities), draw(occupancies))
    for wanted in draw(st.lists(reservations(), max_size=8)):
        try:
            host = host.add(wanted, fitting.place(
                host, wanted, draw(policy_names)))
        except fitting.NoRoomError:
            continue
    return host
