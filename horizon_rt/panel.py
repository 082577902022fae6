# SPDX-License-Identifier: Apache-2.0
"""The panel, as Horizon's menu has it."""

import horizon


class RealTime(horizon.Panel):
    """Shown where the catalogue has nova-rt's API, to those who may list hosts.

    Horizon knows the second only with the policies of :mod:`horizon_rt.policies`. The API
    decides in any case.
    """

    name = 'Real-time'
    slug = 'real_time'
    permissions = ('openstack.services.rt',)
    policy_rules = (('rt', 'rt:hosts:list'),)
