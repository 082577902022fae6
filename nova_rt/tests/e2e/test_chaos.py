# SPDX-License-Identifier: Apache-2.0
"""Each service is killed while containers are created, changed and deleted.

It runs with FULL=1, when each service is killed five times, or when
NOVA_RT_CHAOS_SEED names the seed.
"""

import pytest

from nova_rt.tests.e2e import chaos

POSSIBLE = {'ACTIVE': ('stop', 'reboot', 'reboot', 'delete'),
            'SHUTOFF': ('start', 'start', 'delete')}


@pytest.mark.skipif(chaos.SEED is None, reason='set FULL=1 or NOVA_RT_CHAOS_SEED')
def test_whichever_service_is_killed_all_say_the_same_in_the_end(
        stack, user, flavors, kernel, manage, nova_manage):
    chaos.Chaos(stack, user, flavors, 'busybox-hog', POSSIBLE, manage, nova_manage).run()
    assert held(kernel) == {}


def held(kernel):
    """Return the budgets of all groups of containers, and of that above them.

    A libvirtd that is killed while it starts a container may leave an empty
    group without one.
    """
    groups = ('machine', *kernel.tree.children('machine')) if (
        kernel.tree.exists('machine')) else ()
    budgets = {group: kernel.read(group).runtimes_us for group in groups}
    return {group: runtimes_us for group, runtimes_us in budgets.items()
            if any(runtimes_us)}
