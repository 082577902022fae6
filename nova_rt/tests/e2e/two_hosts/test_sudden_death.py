# SPDX-License-Identifier: Apache-2.0
"""nova-rt-compute is killed at named points of a live migration, on either host.

By default at a few of them; FULL=1 takes them all.
"""

import itertools

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import kill_points

SHARE = 0.2
SAMPLE = 2  # of each side; each takes a while
SIDES = {'source': kill_points.SOURCE, 'destination': kill_points.DESTINATION}
POINTS = [*itertools.chain.from_iterable(
    itertools.product((side,), full.some(points, SAMPLE))
    for side, points in SIDES.items())]


@pytest.fixture(scope='module')
def orders(stack, tmp_path_factory):
    """The files that tell nova-rt-compute where to die, by the name of its host."""
    folder = tmp_path_factory.mktemp('kill')
    before = stack.site.compute
    stack.site.compute = kill_points.program(folder, f'{folder}/$(hostname)')
    for name in ('nova-compute', 'nova-compute-2'):
        stack.restart(name)
    yield folder
    stack.site.compute = before
    for name in ('nova-compute', 'nova-compute-2'):
        stack.restart(name)


@pytest.mark.parametrize(('side', 'point'), POINTS, ids=str)
def test_it_is_in_one_place_with_its_reservation_whoever_is_killed_where(
        side, point, stack, hosts, user, flavors, orders):
    server = user.boot(flavors(40_000)).id
    here = hosts.of(server)
    victim = here if side == 'source' else 3 - here
    order = orders / hosts.service(victim).host
    order.write_text(str(point))
    hosts.begin_live(server)
    driver.until(lambda: not order.exists(), f'{point} is reached')
    stack.restart(hosts.compute(victim))
    user.settled(server, 'ACTIVE')
    driver.until(lambda: not hosts.has_domain(server, 3 - hosts.of(server)), 'one is left')
    # What was copied before the source was killed stays there.
    hosts.assert_only_on(hosts.of(server), server, SHARE, tidy=False)
