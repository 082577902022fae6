# SPDX-License-Identifier: Apache-2.0
"""The panel, as Horizon's menu has it."""

import horizon


class RealTime(horizon.Panel):
    """Shown to administrators where the catalogue has nova-rt's API, as Horizon's own flavors are.

    Horizon allows whatever a policy says that it does not know, so a rule of nova-rt's own would
    keep nobody out. What is shown and changed is the APIs' to decide in any case.
    """

    name = 'Real-time'
    slug = 'real_time'
    permissions = ('openstack.services.rt',)
    policy_rules = (('compute', 'context_is_admin'),)
