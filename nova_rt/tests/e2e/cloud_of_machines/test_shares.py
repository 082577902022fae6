# SPDX-License-Identifier: Apache-2.0
"""What the vCPUs of servers get from this machine's own kernel."""

import numpy as np
import pytest

from demo import outside
from demo import picture
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e.cloud_of_machines import machine_user
from nova_rt.virt.deadline import granularity
from stack import supply
from stack import vcpus

WINDOW_S = 10.0
PERIOD_US = 200_000
TOLERANCE = 0.003


@pytest.fixture
def running(user, operator, flavors, tmp_path):
    """Two servers on both pCPUs that burn CPU: one as its flavor says, one as a hint.

    They never ask QEMU for anything: what waits for a thread without a reservation, which
    hogs keep from its pCPU, does not ask for its own.
    """
    flavor = flavors(40_000, PERIOD_US, vcpus=2)
    with machine_user.aloof(operator, tmp_path) as user.image:
        yield [user.burning(server.id) for server in (
            user.boot(flavor), user.boot(flavor, cpu__rt_runtime_us='50000'))]
        user.delete_all()


def test_every_vcpu_gets_what_its_flavor_or_hint_reserves(running):
    assert [set(machine.shares.values()) for machine in running] == [{0.2}, {0.25}]
    for machine in running:
        driver.assert_get(vcpus.measure, machine, WINDOW_S, TOLERANCE)


@pytest.mark.parametrize(('policy', 'priority'), [('other', '0'), ('fifo', '50')])
def test_no_hog_takes_what_is_reserved_in_any_second(stack, running, policy, priority):
    """One of three windows must hold, as in driver.assert_get().

    In a second of whole periods, each vCPU gets what is reserved; in any other, what the
    periodic resource of the sizing model supplies at least.
    """
    seen = []
    for _ in range(driver.WINDOWS):
        with outside.Hog(stack, policy, priority, None, WINDOW_S + 3):
            got = supply.watch(running, WINDOW_S)
        worst = {server: {pcpu: each.in_whole_periods(PERIOD_US)
                          for pcpu, each in by_pcpu.items()}
                 for server, by_pcpu in got.items()}
        anywhere = {server: {pcpu: each.in_any_second() for pcpu, each in by_pcpu.items()}
                    for server, by_pcpu in got.items()}
        print(f'{policy} {priority}, the worst second of whole periods:')
        print(picture.comparison(running, worst))
        print('and that from any moment on:')
        print(picture.comparison(running, anywhere))
        if (holds(running, worst, lambda share: share - TOLERANCE - late())
                and holds(running, anywhere, lambda share: supply.promised(
                    round(share * PERIOD_US), PERIOD_US) - late())):
            return
        seen.append((worst, anywhere, whole(got)))
    raise AssertionError(seen)


def whole(got):
    """Return each vCPU's share of a whole window, with two signs of a slow machine.

    They are what its hypervisor took of it, and the longest pause between samples, in ms.
    """
    return {server: [(each.share(), (each.stolen_ns[-1] - each.stolen_ns[0]) / 1e6,
                      np.diff(each.times_ns).max() / 1e6) for each in by_pcpu.values()]
            for server, by_pcpu in got.items()}


def holds(running, shares, bound):
    """Whether every vCPU has more than what a bound makes of its reserved share."""
    return all(shares[machine.server][pcpu] > bound(share)
               for machine in running for pcpu, share in machine.shares.items())


def late():
    """Return the part of a second that the kernel may account, or end a turn, too late."""
    return granularity.tick_us() / 1_000_000
