# SPDX-License-Identifier: Apache-2.0
"""A host with an elastic server, which makes room for a more critical one that waits."""

from nova import objects

from nova_rt import elastic
from nova_rt.instance import flavors
from nova_rt.instance import preempted
from nova_rt.tests.functional import waiting_case
from nova_rt.view import holders
from nova_rt.view import servers


class PreemptionCase(waiting_case.WaitingCase):

    def setUp(self):
        super().setUp()
        self.flags(preempt='elastic', group='rt')

    def elastic_of(self, percent, least, letter='A'):
        return self.flavor_of(percent, letter, **{elastic.EXTRA_SPEC: str(least * 1000)})

    def percent_of(self, server):
        return flavors.reservation_of(self.instance_of(server).flavor).runtime_us // 1000

    def hints_of(self, server):
        return objects.RequestSpec.get_by_instance_uuid(
            self.admin, server['id']).scheduler_hints or {}

    def owed(self):
        found = servers.page(self.admin, holders.Scope(None, None), 10).servers
        return {each.uuid: each.owed_us for each in found}

    def given_back(self, server):
        def has_it():
            self.sweep()
            assert preempted.mark_of(self.instance_of(server)) is None
        self.eventually(has_it)

    def told(self, server):
        return [each.message for each in objects.InstanceActionList.get_by_instance_uuid(
            self.cell_context(), server['id']) if each.action == 'rt_preempt']
