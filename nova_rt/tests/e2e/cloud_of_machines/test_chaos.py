# SPDX-License-Identifier: Apache-2.0
"""Each service is killed, and QEMU too, while virtual machines are created and changed.

It runs with FULL=1, when each service is killed five times, or when
NOVA_RT_CHAOS_SEED names the seed.
"""

import pytest

from nova_rt.tests.e2e import chaos
from nova_rt.tests.e2e import driver
from stack import machines

POSSIBLE = {'ACTIVE': ('stop', 'reboot', 'pause', 'suspend', 'delete'),
            'PAUSED': ('unpause', 'unpause', 'delete'),
            'SUSPENDED': ('resume', 'resume', 'delete'),
            'SHUTOFF': ('start', 'start', 'delete')}


@pytest.mark.skipif(chaos.SEED is None, reason='set FULL=1 or NOVA_RT_CHAOS_SEED')
def test_whatever_is_killed_all_say_the_same_in_the_end(
        stack, user, flavors, manage, nova_manage):
    chaos.Chaos(stack, user, flavors, user.image, POSSIBLE, manage, nova_manage).run(
        lambda chance: machines.kill_one(stack.site, chance))
    driver.until(user.nothing_runs, 'no virtual machine is left')
