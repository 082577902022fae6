# SPDX-License-Identifier: Apache-2.0
"""The operator's API on Nova's fixtures: what ``gabbits/*.yaml`` says."""

import os
import pathlib
import unittest
from unittest import mock

from gabbi import driver

from nova_rt.testing import cases
from nova_rt.tests.functional.rest import operators_cloud

GABBITS = pathlib.Path(__file__).with_name('gabbits')


class TestApi(operators_cloud.OperatorsCloud):

    def test_it_answers_as_the_gabbits_say(self):
        application = operators_cloud.Checked(self.api_fixture.app())
        suite = driver.build_tests(
            str(GABBITS), unittest.TestLoader(), intercept=lambda: application,
            test_loader_name='rest')
        result = unittest.TestResult()
        with mock.patch.dict(os.environ, self.known()):
            suite.run(result)
        self.assertEqual([], [f'{test}: {text}' for test, text
                              in result.errors + result.failures])
        self.assertGreater(result.testsRun, len(list(GABBITS.glob('*.yaml'))))

    def known(self):
        """Return what the gabbits name by ``$ENVIRON``."""
        return {
            'WEB': self.web['id'], 'DB': self.db['id'], 'BATCH': self.batch['id'],
            'LARGE': self.large['id'], 'FLAVOR': self.flavor,
            'WEIGHTLESS': cases.make_flavor({
                f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}),
            'PROJECT': self.api_fixture.project_id,
            'OTHER_PROJECT': operators_cloud.OTHER_PROJECT}
