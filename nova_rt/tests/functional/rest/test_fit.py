# SPDX-License-Identifier: Apache-2.0
"""What keeps a server from each host, and how many more fit, asked by requests."""

from keystoneauth1 import session
from keystoneauth1 import token_endpoint
from osc_lib import exceptions
import pytest

from nova_rt.osc import client
from nova_rt.tests.functional.rest import operators_cloud
from nova_rt.tests.functional.rest import test_commands


class FitCase(operators_cloud.OperatorsCloud):

    def setUp(self):
        super().setUp()
        test_commands.intercept(self)

    def ask(self, path, token='admin', version='1', **body):
        """Return an answer to an administrator or a user, both of the other project."""
        return client.Client(session.Session(auth=token_endpoint.Token(
            test_commands.URL, token)), version).post(path, body)

    def assert_refused(self, sentence, path, **kwargs):
        with pytest.raises(exceptions.CommandError) as refused:
            self.ask(path, **kwargs)
        self.assertIn(sentence, str(refused.value))


class TestQuotas(FitCase):

    def test_only_a_server_that_there_is_not_yet_is_counted_for_them(self):
        self.flags(instances=0, group='quota')
        (quota,) = self.ask('/why', flavor=self.flavor)['shortfalls']
        self.assertEqual('quota', quota['what'])
        self.assertEqual([], self.ask('/why', server=self.batch['id'])['shortfalls'])

    def test_a_version_that_tells_none_does_not_need_them(self):
        # Nothing is configured for oslo.limit, so they cannot be read.
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        for path in ('/why', '/capacity'):
            self.assert_refused('look at [quota]', path, flavor=self.flavor, version='1.2')
            self.assertEqual(2, len(self.ask(path, flavor=self.flavor, version='1.1')['hosts']))
