# SPDX-License-Identifier: Apache-2.0
"""Whether hints may change a flavor's reservation, or raise it, is the operator's to say."""

import functools
import pathlib
from unittest import mock

import fixtures
from nova.tests import fixtures as nova_fixtures
import yaml

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import policies
from nova_rt.testing import cases
from nova_rt.testing.cases import PERIOD
from nova_rt.testing.cases import RUNTIME

RESERVED = {RUNTIME: '100000', PERIOD: '200000'}
LESS, SAME, MORE = (
    {'cpu.rt_runtime_us': 99_999}, {'cpu.rt_runtime_us': 50_000, 'cpu.rt_period_us': 100_000},
    {'cpu.rt_runtime_us': 100_001})


def _choose(fixture, rules):
    path = pathlib.Path(fixture.useFixture(fixtures.TempDir()).path, 'policy.yaml')
    path.write_text(yaml.safe_dump(dict(rules)))
    fixture.policy_file = str(path)


class HintPolicyTestCase(cases.ApiTestCase):
    """The operator's policy.yaml is there before nova-api starts.

    :cvar RULES: what it says: names and checks
    """

    RULES = ()

    def setUp(self):
        # Nova's own fixture chooses the file when the base class installs it.
        with mock.patch.object(nova_fixtures.RealPolicyFixture, '_prepare_policy',
                               functools.partialmethod(_choose, self.RULES)):
            super().setUp()
        self.api.microversion = '2.100'
        self.flavor = cases.make_flavor(RESERVED)

    def forbidden(self, response):
        """Return the sentence of an answer of 403."""
        self.assertEqual(403, response.status_code, response.text)
        return response.json()['forbidden']['message']

    def flavor_of(self, letter):
        return cases.make_flavor({**RESERVED, criticality.EXTRA_SPEC: letter})

    def create(self, hints, flavor=None, api=None):
        return self.create_server(flavor or self.flavor, hints, api)


class Always(HintPolicyTestCase):

    def test_every_hint_is_taken(self):
        for hints in (None, LESS, SAME, MORE):
            self.assert_accepted(self.create(hints))


class OnlyLower(HintPolicyTestCase):
    RULES = ((policies.HINT_BEYOND, '!'),)

    def test_up_to_the_bandwidth_of_the_flavor(self):
        for hints in (None, LESS, SAME):
            self.assert_accepted(self.create(hints))
        assert self.forbidden(self.create(MORE)) == (
            'The flavor reserves 50% of a CPU for each vCPU, the hints ask for 50%, and your '
            'roles do not allow rt:servers:hint_beyond_flavor: choose a flavor that reserves '
            'more.')

    def test_up_to_the_least_runtime_of_the_flavor(self):
        flavor = cases.make_flavor({**RESERVED, elastic.EXTRA_SPEC: '50000'})
        self.assert_accepted(self.create({elastic.NAME: 50_000}, flavor))
        assert self.forbidden(self.create({elastic.NAME: 50_001}, flavor)) == (
            "The flavor's least runtime is 50000 µs, the hint asks for 50001 µs, and your "
            'roles do not allow rt:servers:hint_beyond_flavor: choose a flavor with more.')

    def test_a_flavor_without_a_reservation_has_none(self):
        for specs in ({}, {PERIOD: '200000'}):
            self.assertIn('reserves 0% of a CPU', self.forbidden(self.create(
                {'cpu.rt_runtime_us': 2, 'cpu.rt_period_us': 100_000},
                cases.make_flavor(specs))))

    def test_a_resize_to_a_smaller_flavor_is_no_way_round_it(self):
        server = self.create(SAME).json()['server']['id']
        small = cases.make_flavor({RUNTIME: '1000', PERIOD: '200000'})
        self.assertIn('reserves 0.5%', self.forbidden(self.post(
            f'servers/{server}/action', {'resize': {'flavorRef': small}})))


class Never(HintPolicyTestCase):
    RULES = ((policies.HINT, '!'),)

    def test_no_hint_is_taken(self):
        self.assert_accepted(self.create(None))
        self.assert_accepted(self.create({'of_somebody_else': 'x'}))
        for hints in (LESS, SAME, MORE):
            self.assertIn('choose a flavor with the reservation',
                          self.forbidden(self.create(hints)))


class ByRole(HintPolicyTestCase):
    RULES = ((policies.HINT_BEYOND, 'role:admin'),)

    def test_an_administrator_may_what_a_member_may_not(self):
        self.assert_accepted(self.create(MORE, api=self.admin_api))
        self.forbidden(self.create(MORE))


class Criticality(HintPolicyTestCase):

    def test_a_hint_lowers_it_and_only_an_administrator_raises_it(self):
        flavor = self.flavor_of('B')
        for letter in ('A', 'B'):
            self.assert_accepted(self.create({criticality.NAME: letter}, flavor))
        assert self.forbidden(self.create({criticality.NAME: 'C'}, flavor)) == (
            "The flavor's criticality is B, the hint asks for C, and your roles do not allow "
            'rt:servers:hint_above_criticality: choose a flavor with a higher one.')
        self.assert_accepted(self.create({criticality.NAME: 'C'}, flavor, self.admin_api))

    def test_a_flavor_that_says_none_has_a(self):
        self.assert_accepted(self.create({criticality.NAME: 'A'}))
        self.assertIn('is A, as it says none', self.forbidden(
            self.create({criticality.NAME: 'B'})))

    def test_a_resize_to_a_lower_flavor_is_no_way_round_it(self):
        server = self.create({criticality.NAME: 'C'}, self.flavor_of('C')).json()['server']['id']
        self.assertIn('is B, the hint asks for C', self.forbidden(self.post(
            f'servers/{server}/action', {'resize': {'flavorRef': self.flavor_of('B')}})))


class CriticalityByRole(HintPolicyTestCase):
    RULES = ((policies.HINT_CRITICALITY, '@'),)

    def test_everybody_may_raise_it(self):
        self.assert_accepted(self.create({criticality.NAME: 'C'}))


class CriticalityAlone(HintPolicyTestCase):

    def test_it_needs_a_reservation_and_a_letter(self):
        for specs, hints, told in (
                ({}, {criticality.NAME: 'A'}, 'is set without a reservation'),
                ({criticality.EXTRA_SPEC: 'A'}, {}, 'is set without a reservation'),
                (RESERVED, {criticality.NAME: 'D'}, 'give one of A, B, C'),
                (RESERVED, {criticality.NAME: 'A', criticality.EXTRA_SPEC: 'B'},
                 'give it once'),
                (RESERVED, {'rt_criticality': 'A'}, 'did you mean cpu.rt_criticality?')):
            response = self.create(hints, cases.make_flavor(specs))
            self.assertEqual(400, response.status_code, response.text)
            self.assertIn(told, response.json()['badRequest']['message'])
