# SPDX-License-Identifier: Apache-2.0
"""What POST /servers answers to reservations."""

from nova import context as nova_context
from nova import objects

from nova_rt.testing import cases
from nova_rt.testing.cases import PERIOD
from nova_rt.testing.cases import RUNTIME

RESERVED = {RUNTIME: '100000', PERIOD: '200000'}
BAD_NUMBERS = (
    0, '0', -1, '-1', 1, 2 ** 63, str(2 ** 63), '9' * 5000, int('9' * 4000),
    'abc', '1e5', '', ' ', '100 000', '1_000', '+5000', '0x10', '5000.0',
    5000.0, '\u0661\u0662\u0663\u0664', '\uff15\uff10\uff10\uff10', '\ud800',
    'x' * 1000, None, True, {}, {'a': 1}, [], ['5000', '5000'], [['5000']],
    ['abc'], [None])


class ServerCreateTest(cases.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.api.microversion = '2.100'

    def test_reservation_of_the_flavor_is_accepted(self):
        self.assert_accepted(self.create_server(cases.make_flavor(RESERVED)))

    def test_reservation_of_hints_alone_is_accepted(self):
        self.assert_accepted(self.create_server(
            cases.make_flavor(),
            {'cpu.rt_runtime_us': 5000, 'cpu.rt_period_us': '10000'}))

    def test_hint_may_be_int_string_or_list_and_have_the_prefix(self):
        flavor = cases.make_flavor(RESERVED)
        for value in (120000, '120000', ['120000'], [120000], '0120000'):
            for name in ('cpu.rt_runtime_us', 'hw:cpu.rt_runtime_us'):
                self.assert_accepted(
                    self.create_server(flavor, {name: value}))

    def test_hint_makes_good_what_the_flavor_lacks(self):
        self.assert_accepted(self.create_server(
            cases.make_flavor({PERIOD: '200000'}),
            {'cpu.rt_runtime_us': '120000'}))

    def test_flavor_may_be_named_by_its_address(self):
        flavor = cases.make_flavor(RESERVED)
        address = f'http://somewhere/v2.1/flavors/{flavor}'
        self.assert_accepted(self.create_server(address))
        self.assert_refused(
            self.create_server(address, {'cpu.rt_runtime_us': 300000}),
            'longer than the period')

    def test_nova_reads_the_body_after_us(self):
        response = self.create_server(
            cases.make_flavor(RESERVED), {'cpu.rt_runtime_us': 120000})
        spec = objects.RequestSpec.get_by_instance_uuid(
            nova_context.get_admin_context(), response.json()['server']['id'])
        self.assertEqual(
            {'cpu.rt_runtime_us': ['120000']}, spec.scheduler_hints)

    def test_bad_number_in_a_hint_is_refused(self):
        flavor = cases.make_flavor(RESERVED)
        for name in ('cpu.rt_runtime_us', 'hw:cpu.rt_period_us'):
            for value in BAD_NUMBERS:
                self.assert_refused(
                    self.create_server(flavor, {name: value}), name)

    def test_period_outside_the_limits_is_refused(self):
        flavor = cases.make_flavor(RESERVED)
        for period in (10, 99, 4194305):
            self.assert_refused(
                self.create_server(flavor, {'cpu.rt_period_us': period}),
                'from 100 µs to 4194304 µs')

    def test_runtime_over_the_flavors_period_is_refused(self):
        self.assert_refused(
            self.create_server(cases.make_flavor(RESERVED),
                               {'cpu.rt_runtime_us': 200001}),
            '200001 µs is longer than the period of 200000 µs')

    def test_bandwidth_over_the_cap_is_refused_with_what_would_do(self):
        flavor = cases.make_flavor(RESERVED)
        self.assert_refused(
            self.create_server(flavor, {'cpu.rt_runtime_us': 190001}),
            'at most 95%', 'lower cpu.rt_runtime_us to 190000')
        self.assert_accepted(
            self.create_server(flavor, {'cpu.rt_runtime_us': 190000}))

    def test_cap_is_the_operators(self):
        self.flags(cap=0.5, group='rt')
        flavor = cases.make_flavor(RESERVED)
        self.assert_accepted(self.create_server(flavor))
        self.assert_refused(
            self.create_server(flavor, {'cpu.rt_runtime_us': 100001}),
            'at most 50%')

    def test_only_one_of_runtime_and_period_is_refused(self):
        for specs, hints, missing in (
                ({}, {'cpu.rt_runtime_us': 5000}, 'cpu.rt_period_us'),
                ({}, {'cpu.rt_period_us': 5000}, 'cpu.rt_runtime_us'),
                ({RUNTIME: '5000'}, None, 'cpu.rt_period_us'),
                ({PERIOD: '5000'}, {}, 'cpu.rt_runtime_us')):
            self.assert_refused(
                self.create_server(cases.make_flavor(specs), hints),
                f'but {missing} is neither in the flavor nor in a hint')

    def test_mistyped_hint_is_refused_with_the_right_name(self):
        flavor = cases.make_flavor(RESERVED)
        for name, right in (
                ('cpu.rt_runtim_us', 'cpu.rt_runtime_us'),
                ('hw:cpu.rt_periods_us', 'cpu.rt_period_us'),
                ('cpu_rt_runtime_us', 'cpu.rt_runtime_us'),
                ('CPU.RT_PERIOD_US', 'cpu.rt_period_us'),
                ('rt_period', 'cpu.rt_period_us'),
                ('cpu.rt_runtime_us ', 'cpu.rt_runtime_us'),
                ('cpu.runtime_us', 'cpu.rt_runtime_us')):
            self.assert_refused(
                self.create_server(flavor, {name: 5000}),
                f'did you mean {right}?')

    def test_what_only_a_flavor_can_say_is_refused_as_a_hint(self):
        self.assert_refused(
            self.create_server(cases.make_flavor(RESERVED),
                               {'cpu.rt_policy': 'fifo'}),
            'set it in the flavor', 'hw:cpu.rt_policy')

    def test_hints_of_others_are_not_ours_to_judge(self):
        self.assert_accepted(self.create_server(
            cases.make_flavor(RESERVED), {'rack': 'r1', 'cpu_model': 'x'}))

    def test_spellings_that_contradict_each_other_are_refused(self):
        flavor = cases.make_flavor(RESERVED)
        both = {'cpu.rt_runtime_us': 5000, 'hw:cpu.rt_runtime_us': '5000'}
        self.assert_accepted(self.create_server(flavor, both))
        both['cpu.rt_runtime_us'] = 6000
        self.assert_refused(self.create_server(flavor, both), 'give it once')

    def test_flavor_that_was_wrong_before_us_is_refused(self):
        for specs, words in (
                ({RUNTIME: 'abc', PERIOD: '200000'}, "is 'abc'"),
                ({RUNTIME: '300000', PERIOD: '200000'}, 'longer than'),
                ({**RESERVED, 'hw:cpu.rt_polcy': 'rr'}, 'hw:cpu.rt_policy'),
                ({**RESERVED, 'hw:cpu.rt_policy': 'idle'}, 'fifo, rr'),
                ({**RESERVED, 'hw:cpu.rt_priority': '5'}, 'without'),
                ({'hw:cpu.rt_policy': 'rr'}, 'without a reservation'),
                ({**RESERVED, 'resources:CUSTOM_RT_SHARE': '5'}, 'is 524288: set it to that'),
                ({'resources:CUSTOM_RT_SHARE': '5'}, 'no reservation of its own'),
                ({**RESERVED, 'resources1:CUSTOM_RT_SHARE': '5'}, 'group of its own')):
            self.assert_refused(
                self.create_server(cases.make_flavor(specs)), words)

    def test_a_thousand_servers_in_one_request_are_for_nova_to_count(self):
        flavor = cases.make_flavor(RESERVED)
        response = self.create_server(flavor, min_count=1000)
        self.assertEqual(403, response.status_code)
        self.assertIn('Quota exceeded', response.text)
        self.assert_refused(self.create_server(
            flavor, {'cpu.rt_runtime_us': 0}, min_count=1000))

    def test_flavor_that_changes_later_is_read_anew(self):
        flavor_id = cases.make_flavor(RESERVED)
        self.assert_accepted(
            self.create_server(flavor_id, {'cpu.rt_runtime_us': 150000}))
        flavor = objects.Flavor.get_by_flavor_id(
            nova_context.get_admin_context(), flavor_id)
        flavor.extra_specs = {RUNTIME: '5000', PERIOD: '10000'}
        flavor.save()
        self.assert_refused(
            self.create_server(flavor_id, {'cpu.rt_runtime_us': 150000}),
            'longer than the period of 10000 µs')

    def test_the_other_path_that_creates_servers_is_checked(self):
        body = {'server': {
            'name': 'web', 'flavorRef': cases.make_flavor(RESERVED),
            'imageRef': '', 'networks': 'none'},
            'os:scheduler_hints': {'cpu.rt_runtime_us': 0}}
        self.assert_refused(self.post('os-volumes_boot', body))

    def test_method_in_the_query_string_does_not_lead_past_us(self):
        body = {'server': {'flavorRef': cases.make_flavor(RESERVED)},
                'os:scheduler_hints': {'cpu.rt_runtime_us': 0}}
        self.assert_refused(
            self.post('servers?_method=POST', body, method='PUT'))


class HintKeysTest(cases.ApiTestCase):
    """Nova takes hints from two keys of the body, the first if both."""

    FIRST, SECOND = 'os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints'

    def _create(self, **hints):
        return self.post('servers', {'server': {
            'name': 'web', 'flavorRef': cases.make_flavor(RESERVED),
            'imageRef': self.glance.auto_disk_config_enabled_image['id']},
            **hints})

    def test_both_keys_are_read(self):
        for key in (self.FIRST, self.SECOND):
            self.assert_accepted(
                self._create(**{key: {'cpu.rt_runtime_us': 120000}}))
            self.assert_refused(
                self._create(**{key: {'cpu.rt_runtime_us': 0}}))

    def test_same_reservation_under_both_keys_is_accepted(self):
        hints = {'cpu.rt_runtime_us': 120000}
        self.assert_accepted(
            self._create(**{self.FIRST: hints, self.SECOND: hints}))

    def test_hints_that_nova_would_ignore_are_refused(self):
        for first in ({}, {'group': 'x'}, {'cpu.rt_runtime_us': 5000}):
            self.assert_refused(self._create(**{
                self.FIRST: first,
                self.SECOND: {'cpu.rt_runtime_us': 120000}}), self.SECOND)

    def test_second_key_without_reservation_does_not_matter(self):
        self.assert_accepted(self._create(**{
            self.FIRST: {'cpu.rt_runtime_us': 120000},
            self.SECOND: {'rack': 'r1'}}))


class MicroversionsTest(cases.ApiTestCase):

    def test_every_microversion_answers_alike_and_names_itself(self):
        flavor = cases.make_flavor(RESERVED)
        for version in (None, '2.1', '2.86', '2.100', 'latest'):
            self.api.microversion = version
            self.assert_accepted(
                self.create_server(flavor, networks='none')
                if version not in (None, '2.1')
                else self.create_server(flavor, networks=[]))
            response = self.create_server(flavor, {'cpu.rt_runtime_us': 0})
            self.assert_refused(response)
            shown = response.headers['X-OpenStack-Nova-API-Version']
            if version != 'latest':
                self.assertEqual(version or '2.1', shown)
            self.assertEqual(
                f'compute {shown}', response.headers['OpenStack-API-Version'])

    def test_request_ids_are_those_of_nova(self):
        response = self.create_server(
            cases.make_flavor(RESERVED), {'cpu.rt_runtime_us': 0})
        request_id = response.headers['x-openstack-request-id']
        self.assertRegex(request_id, '^req-')
        self.assertEqual(
            request_id, response.headers['x-compute-request-id'])


class ProjectInPathTest(cases.ApiTestCase):
    USE_PROJECT_ID = True

    def test_path_with_a_project_id_is_checked(self):
        flavor = cases.make_flavor(RESERVED)
        self.assert_accepted(self.create_server(flavor))
        self.assert_refused(
            self.create_server(flavor, {'cpu.rt_runtime_us': 0}))


class LegacyVersionTest(cases.ApiTestCase):
    API_MAJOR_VERSION = 'v2'
    LEGACY_API = True

    def test_version_2_is_checked_and_shows_no_microversion(self):
        flavor = cases.make_flavor(RESERVED)
        self.assert_accepted(self.create_server(flavor))
        response = self.create_server(flavor, {'cpu.rt_runtime_us': 0})
        self.assert_refused(response)
        self.assertNotIn('OpenStack-API-Version', response.headers)
