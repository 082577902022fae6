# SPDX-License-Identifier: Apache-2.0
"""The least runtime of an elastic server, as flavors and hints may give it."""

from nova_rt import elastic
from nova_rt.testing import cases
from nova_rt.testing.cases import PERIOD
from nova_rt.testing.cases import RUNTIME

RESERVED = {RUNTIME: '100000', PERIOD: '200000'}
ELASTIC = {**RESERVED, elastic.EXTRA_SPEC: '50000'}


class ElasticTestCase(cases.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.api.microversion = self.admin_api.microversion = '2.100'

    def set(self, specs, added):
        return self.post(f'flavors/{cases.make_flavor(specs)}/os-extra_specs',
                         {'extra_specs': added}, self.admin_api)

    def refused(self, response, words):
        self.assertEqual(400, response.status_code, response.text)
        self.assertIn(words, response.json()['badRequest']['message'])

    def test_a_flavor_may_have_it_with_or_before_its_reservation(self):
        for specs in (RESERVED, {}, {PERIOD: '200000'}):
            self.assert_accepted(self.set(specs, {elastic.EXTRA_SPEC: '50000'}))

    def test_a_flavor_may_not_have_more_than_its_runtime(self):
        self.refused(self.set(RESERVED, {elastic.EXTRA_SPEC: '100001'}),
                     'is 100001 µs, but the runtime is 100000 µs')
        self.refused(self.set(ELASTIC, {RUNTIME: '49999'}),
                     'is 50000 µs, but the runtime is 49999 µs')
        self.refused(self.set(RESERVED, {elastic.EXTRA_SPEC: '1'}), 'below 2 µs')
        self.refused(self.set(RESERVED, {'hw:cpu.rt_min_runtime': '5'}),
                     'did you mean hw:cpu.rt_min_runtime_us?')

    def test_a_server_is_refused_at_once(self):
        for specs, hints, words in (
                (RESERVED, {elastic.NAME: '100001'}, 'the runtime is 100000'),
                (ELASTIC, {'cpu.rt_runtime_us': '40000'}, 'the runtime is 40000'),
                (RESERVED, {elastic.NAME: 'x'}, 'give a whole number'),
                (RESERVED, {'rt_min_runtime_us': '5'}, 'did you mean cpu.rt_min_runtime_us?'),
                ({}, {elastic.NAME: '5'}, 'is set without a reservation'),
                ({elastic.EXTRA_SPEC: '5'}, {}, 'is set without a reservation')):
            self.refused(self.create_server(cases.make_flavor(specs), hints), words)

    def test_a_hint_may_lower_it_or_say_it(self):
        for specs in (RESERVED, ELASTIC):
            self.assert_accepted(self.create_server(
                cases.make_flavor(specs), {elastic.NAME: '40000'}))

    def test_a_resize_to_less_than_the_hint_is_refused(self):
        response = self.create_server(cases.make_flavor(RESERVED), {elastic.NAME: '40000'})
        small = cases.make_flavor({RUNTIME: '30000', PERIOD: '200000'})
        self.refused(self.post(f'servers/{response.json()["server"]["id"]}/action',
                               {'resize': {'flavorRef': small}}), 'the runtime is 30000')
