# SPDX-License-Identifier: Apache-2.0
"""What Nova's quotas leave is told as nova-api would decide it."""

from nova import context
from nova import objects
from nova.tests.functional.api import client
import pytest

from nova_rt.explain import quotas
from nova_rt.instance import flavors
from nova_rt.testing import cloud


class TestQuotas(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.start('host1')
        self.flags(instances=-1, cores=5, ram=-1, group='quota')
        self.flavor = self.make_flavor(10, 2)

    def asked(self, user='fake'):
        """Return the quotas of a user of the project, for the flavor."""
        asker = context.RequestContext(user, self.api.project_id, is_admin=True)
        flavor = objects.Flavor.get_by_flavor_id(asker, self.flavor)
        return quotas.of(asker, flavor, flavors.reservation_of(flavor))

    def test_each_server_that_fits_in_may_be_created_and_no_other(self):
        for servers, left in ((2, 5), (1, 3), (0, 1)):
            only, = self.asked()
            self.assertEqual((servers, left), (only.servers, only.left))
            if servers:
                self.boot(self.flavor)
        self.assertEqual('The project may have 5 vCPUs, and has 4.', str(only))
        with pytest.raises(client.OpenStackApiException,
                           match='Quota exceeded for cores') as refused:
            self.boot(self.flavor)
        self.assertEqual(403, refused.value.response.status_code)

    def test_servers_and_memory_are_counted_as_well(self):
        self.flags(instances=1, cores=-1, ram=100, group='quota')
        memory = objects.Flavor.get_by_flavor_id(
            context.get_admin_context(), self.flavor).memory_mb
        self.assertEqual([('instances', 1, 1), ('ram', memory, 100 // memory)], [
            (each.resource, each.needed, each.servers) for each in self.asked()])

    def test_a_user_s_own_quota_is_told_beside_the_project_s(self):
        self.admin_api.api_put(
            f'/os-quota-sets/{self.api.project_id}?user_id=alice',
            {'quota_set': {'cores': 3}})
        self.assertEqual([('project', 2), ('user', 1)], [
            (each.owner, each.servers) for each in self.asked('alice')])
        self.assertEqual(['project'], [each.owner for each in self.asked('bob')])

    def test_a_quota_below_its_use_leaves_nothing(self):
        self.boot(self.flavor)
        self.flags(cores=1, group='quota')
        only, = self.asked()
        self.assertEqual((0, 0), (only.servers, only.left))

    def test_a_caller_without_a_project_has_no_quota(self):
        admin = context.get_admin_context()
        self.assertEqual([], quotas.of(
            admin, objects.Flavor.get_by_flavor_id(admin, self.flavor), None))

    def test_limits_that_keystone_does_not_tell_are_one_sentence(self):
        # Nothing is configured for oslo.limit.
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        with pytest.raises(quotas.UnreadableError, match=r'look at \[quota\]'):
            self.asked()

    def test_without_quotas_there_is_nothing_to_tell(self):
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.assertEqual([], self.asked())
