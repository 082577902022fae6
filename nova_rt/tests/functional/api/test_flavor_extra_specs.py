# SPDX-License-Identifier: Apache-2.0
"""What a flavor's extra specs may become, and what is answered otherwise."""

from nova.api.validation.extra_specs import validators

from nova_rt import spelling
from nova_rt.testing import cases
from nova_rt.testing.cases import PERIOD
from nova_rt.testing.cases import RUNTIME

RESERVED = {RUNTIME: '100000', PERIOD: '200000'}
POLICY, PRIORITY = 'hw:cpu.rt_policy', 'hw:cpu.rt_priority'


class FlavorExtraSpecsTest(cases.ApiTestCase):

    def _set(self, flavor_id, extra_specs, api=None):
        return self.post(f'flavors/{flavor_id}/os-extra_specs',
                         {'extra_specs': extra_specs}, api or self.admin_api)

    def _set_one(self, flavor_id, name, value, api=None):
        return self.post(f'flavors/{flavor_id}/os-extra_specs/{name}',
                         {name: value}, api or self.admin_api, 'PUT')

    def test_whole_description_is_accepted_at_every_microversion(self):
        for version in (None, '2.85', '2.86', 'latest'):
            self.admin_api.microversion = version
            self.assert_accepted(self._set(
                cases.make_flavor(),
                {**RESERVED, POLICY: 'fifo', PRIORITY: '10'}))

    def test_description_may_grow_one_extra_spec_at_a_time(self):
        flavor = cases.make_flavor()
        for name, value in ((PRIORITY, 10), (RUNTIME, 100000),
                            (POLICY, 'rr'), (PERIOD, '200000')):
            self.assert_accepted(self._set_one(flavor, name, value))
        self.assertEqual(
            {**RESERVED, POLICY: 'rr', PRIORITY: '10'},
            self.admin_api.get_extra_specs(flavor))

    def test_number_that_is_none_is_refused_at_every_microversion(self):
        flavor = cases.make_flavor()
        for version in (None, '2.86', 'latest'):
            self.admin_api.microversion = version
            for value in (0, '0', '-1', -1, 2 ** 63, str(2 ** 63), 'abc',
                          '1e5', 1e5, '', '1_000', '\u0661\u0662\u0663',
                          '9' * 200, ' 5000', None, True, ['5', '6']):
                for name in (RUNTIME, PERIOD, PRIORITY):
                    self.assert_refused(
                        self._set(flavor, {name: value}), name)
                    self.assert_refused(
                        self._set_one(flavor, name, value), name)
        self.assertEqual({}, self.admin_api.get_extra_specs(flavor))

    def test_limits_are_refused_by_name(self):
        flavor = cases.make_flavor()
        for name, value, words in (
                (PERIOD, '10', 'from 100 µs to 4194304 µs'),
                (RUNTIME, '1', 'below 2 µs'), (PRIORITY, '100', '1 to 99'),
                (POLICY, 'idle', 'one of fifo, rr')):
            self.assert_refused(self._set_one(flavor, name, value), words)

    def test_runtime_over_the_period_in_one_request_is_refused(self):
        self.assert_refused(
            self._set(cases.make_flavor(), {RUNTIME: 300, PERIOD: 200}),
            '300 µs is longer than the period of 200 µs')

    def test_runtime_over_the_period_that_is_there_is_refused(self):
        flavor = cases.make_flavor(RESERVED)
        self.assert_refused(
            self._set_one(flavor, RUNTIME, '200001'), 'longer than')
        self.assert_refused(
            self._set(flavor, {PERIOD: '99999'}), 'longer than')
        self.assertEqual(RESERVED, self.admin_api.get_extra_specs(flavor))

    def test_bandwidth_over_the_cap_is_refused(self):
        flavor = cases.make_flavor(RESERVED)
        self.assert_refused(
            self._set_one(flavor, RUNTIME, '190001'), 'at most 95%')
        self.assert_accepted(self._set_one(flavor, RUNTIME, '190000'))

    def test_both_may_change_together(self):
        self.assert_accepted(self._set(
            cases.make_flavor(RESERVED), {RUNTIME: '5000', PERIOD: '10000'}))

    def test_the_share_may_be_that_of_the_reservation_and_no_other(self):
        share = 'resources:CUSTOM_RT_SHARE'
        flavor = cases.make_flavor(RESERVED, vcpus=2)
        for wrong in ('5', '1048577', 'x', '-1'):
            self.assert_refused(self._set(flavor, {share: wrong}), share)
            self.assert_refused(self._set_one(flavor, share, wrong), share)
        self.assert_refused(self._set(flavor, {share: '5'}), 'is 1048576: set it to that')
        self.assert_refused(self._set(cases.make_flavor(), {share: '5'}), 'or set cpu.rt_runtime')
        self.assert_accepted(self._set_one(flavor, share, '1048576'))
        self.assert_refused(self._set_one(flavor, RUNTIME, '50000'), 'is 524288: set it to that')
        self.assert_accepted(self._set(flavor, {RUNTIME: '50000', share: '524288'}))

    def test_a_share_in_a_group_of_its_own_is_refused(self):
        flavor = cases.make_flavor(RESERVED)
        for group in ('1', '_x', '_RT'):
            name = f'resources{group}:CUSTOM_RT_SHARE'
            self.assert_refused(
                self._set(flavor, {name: '524288'}), name, 'a group of its own')
        self.assert_accepted(
            self._set(flavor, {'resources:CUSTOM_RT_SHARES': '5'}))

    def test_mistyped_name_is_refused_with_the_right_one(self):
        flavor = cases.make_flavor()
        for version in (None, 'latest'):
            self.admin_api.microversion = version
            for name, right in (
                    ('hw:cpu.rt_runtim_us', RUNTIME),
                    ('cpu.rt_runtime_us', RUNTIME),
                    ('hw:cpu_rt_period_us', PERIOD),
                    ('hw:rt_period_us', PERIOD),
                    ('hw:cpu.rt_polcy', POLICY),
                    ('cpu.rt_priority', PRIORITY)):
                self.assert_refused(self._set_one(flavor, name, '5000'),
                                    f'did you mean {right}?')

    def test_no_name_that_nova_knows_is_taken_for_one_of_ours(self):
        others = [name for name in validators.VALIDATORS
                  if name not in spelling.EXTRA_SPECS]
        self.assertIn('hw:cpu_policy', others)
        flavor = cases.make_flavor({RUNTIME: 'wrong since long ago'})
        for name in others:
            response = self._set(flavor, {name: 'x'})
            self.assertNotIn('did you mean', response.text)
            self.assertNotIn('cpu.rt', response.text)

    def test_deleting_stays_allowed(self):
        flavor = cases.make_flavor(RESERVED)
        self.admin_api.api_delete(f'flavors/{flavor}/os-extra_specs/{PERIOD}')
        self.assertEqual({RUNTIME: '100000'},
                         self.admin_api.get_extra_specs(flavor))

    def test_who_may_not_change_flavors_learns_nothing_of_them(self):
        flavor = cases.make_flavor(RESERVED)
        for response in (self._set(flavor, {RUNTIME: '300000'}, self.api),
                         self._set_one(flavor, RUNTIME, 'abc', self.api)):
            self.assertEqual(403, response.status_code)

    def test_flavor_that_does_not_exist_is_left_to_nova(self):
        self.assertEqual(404, self._set('none', RESERVED).status_code)

    def test_body_without_the_key_of_the_path_is_left_to_nova(self):
        response = self.post(
            f'flavors/{cases.make_flavor()}/os-extra_specs/{RUNTIME}',
            {PERIOD: '200000'}, self.admin_api, 'PUT')
        self.assertEqual(400, response.status_code)
        self.assertIn('URI mismatch', response.text)
