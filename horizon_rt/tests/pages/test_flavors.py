# SPDX-License-Identifier: Apache-2.0
"""The form for a flavor, rendered by Horizon."""

import pytest

from horizon_rt import fields
from horizon_rt.tests.pages import told

FORM = f'/admin/real_time/flavors/{told.FLAVOR}/'
SPECS = f'/compute/flavors/{told.FLAVOR}/os-extra_specs'


def enter(shown=told.SPECS, **entered):
    """Return all fields; those that are not given are empty.

    :param shown: the flavor's extra specs when the form was opened
    """
    return {**dict.fromkeys(fields.SPECS, ''), 'shown': fields.fingerprint(shown), **entered}


def test_the_form_shows_what_the_flavor_has(admin, full):
    page = admin.get(FORM)
    assert page.status_code == 200
    assert b'value="30000"' in page.content
    assert b'Reservation of the flavor rt1' in page.content


@pytest.mark.parametrize(('entered', 'field', 'sentence'), [
    ({'runtime_us': 'soon', 'period_us': '1000'}, 'runtime_us',
     "hw:cpu.rt_runtime_us is 'soon': give a whole number in digits, for example 100000."),
    ({'runtime_us': '2000', 'period_us': '1000'}, 'runtime_us',
     'The runtime of 2000 µs is longer than the period of 1000 µs: lower cpu.rt_runtime_us or '
     'raise cpu.rt_period_us.'),
    ({'runtime_us': '500', 'period_us': '1000', 'min_runtime_us': '600'}, 'min_runtime_us',
     'hw:cpu.rt_min_runtime_us is 600 µs, but the runtime is 500 µs: lower '
     'hw:cpu.rt_min_runtime_us, or raise cpu.rt_runtime_us.'),
    ({'runtime_us': '500', 'period_us': '1000', 'priority': '7'}, 'priority',
     'hw:cpu.rt_priority is set without hw:cpu.rt_policy: set hw:cpu.rt_policy to one of '
     'fifo, rr too.')])
def test_what_is_wrong_is_said_at_its_field_and_nova_is_not_asked(
        admin, full, entered, field, sentence):
    page = admin.post(FORM, enter(**entered))
    assert page.status_code == 200
    assert page.context['form'].errors == {field: [sentence]}
    assert full.requests('POST') == []


def test_good_fields_become_extra_specs(admin, full):
    page = admin.post(FORM, enter(runtime_us='20000', period_us='100000', criticality='B'))
    assert page.status_code == 302
    assert full.requests('POST') == [(SPECS, {'extra_specs': {
        'hw:cpu.rt_runtime_us': '20000', 'hw:cpu.rt_criticality': 'B'}})]
    assert full.requests('DELETE') == []


def test_empty_fields_remove_extra_specs_and_no_others(admin, full):
    told.flavor(full, {**told.SPECS, 'hw:mem_page_size': 'any'})
    assert admin.post(FORM, enter()).status_code == 302
    assert sorted(path for path, _ in full.requests('DELETE')) == [
        f'{SPECS}/hw:cpu.rt_period_us', f'{SPECS}/hw:cpu.rt_runtime_us']
    assert full.requests('POST') == []


def test_a_share_in_the_flavor_stays_true(admin, full):
    told.flavor(full, {**told.SPECS, 'resources:CUSTOM_RT_SHARE': str(2 * told.HELD)})
    admin.post(FORM, enter(runtime_us='50000', period_us='100000'))
    assert full.requests('POST')[0][1] == {'extra_specs': {
        'hw:cpu.rt_runtime_us': '50000', 'resources:CUSTOM_RT_SHARE': str(told.CPU)}}


CRITICAL = {**told.SPECS, 'hw:cpu.rt_criticality': 'C'}


def refuses(cloud, status, sentence):
    cloud.says('POST', SPECS, {'badRequest': {'code': status, 'message': sentence}}, status)


def test_what_nova_refuses_is_said_and_what_was_removed_is_put_back(admin, full):
    told.flavor(full, CRITICAL)
    refuses(full, 400, 'At most 95% can be reserved: lower cpu.rt_runtime_us.')
    page = admin.post(FORM, enter(CRITICAL, runtime_us='99000', period_us='100000'))
    assert page.status_code == 200
    # The stand-in's flavor is as it was.
    assert page.context['form'].non_field_errors() == [
        'At most 95% can be reserved: lower cpu.rt_runtime_us.']
    assert full.requests('DELETE') == [(f'{SPECS}/hw:cpu.rt_criticality', None)]
    assert full.requests('POST')[-1] == (
        SPECS, {'extra_specs': {'hw:cpu.rt_criticality': 'C'}})


def test_a_failure_after_which_the_flavor_differs_says_so_and_undoes_nothing(admin, full):
    told.flavor(full, CRITICAL)
    full.says('POST', SPECS, '<html>Gateway Timeout</html>', 504, 'text/html')
    full.after('POST', SPECS, lambda: told.flavor(full, told.SPECS))
    page = admin.post(FORM, enter(CRITICAL, runtime_us='40000', period_us='100000'))
    assert page.context['form'].non_field_errors() == [
        'The API of Nova has failed to answer: try again later, or ask your operator to look '
        'into its log. The flavor has changed in hw:cpu.rt_criticality: look at it again.']
    assert len(full.requests('POST')) == 1


def test_a_nova_that_goes_away_meanwhile_leaves_a_sentence(admin, full):
    full.says('POST', SPECS, {}, 504)
    full.after('POST', SPECS, lambda: full.says('GET', f'/compute/flavors/{told.FLAVOR}', {}, 503))
    page = admin.post(FORM, enter(runtime_us='40000', period_us='100000'))
    error, = page.context['form'].non_field_errors()
    assert error.endswith('Whether the flavor has changed is not known: look at it again.')


def test_an_extra_spec_that_somebody_else_removed_is_no_failure(admin, full):
    full.says('DELETE', f'{SPECS}/hw:cpu.rt_period_us', {
        'itemNotFound': {'code': 404, 'message': 'There is none.'}}, 404)
    assert admin.post(FORM, enter()).status_code == 302


def test_a_change_that_somebody_else_made_is_not_undone(admin, full):
    told.flavor(full, CRITICAL)
    page = admin.post(FORM, enter(told.SPECS, runtime_us='40000', period_us='100000'))
    error, = page.context['form'].non_field_errors()
    assert error.startswith('Somebody else has changed the flavor since this form was opened')
    assert full.requests('POST') == full.requests('DELETE') == []


def test_the_form_in_the_page_can_be_sent_as_it_is(admin, full):
    text = admin.get(FORM).content.decode()
    assert 'name="shown"' in text


def test_a_flavor_that_there_is_not_is_a_sentence(admin, full):
    page = admin.get('/admin/real_time/flavors/none/')
    assert page.status_code == 200
    # In openstacksdk's words.
    assert 'id="trouble">No Flavor found for none' in page.content.decode()


def test_markup_in_a_name_is_text(admin, full):
    told.flavor(full, name='<b>x</b>{$1$}')
    for path in (FORM, '/admin/real_time/'):
        text = admin.get(path).content.decode()
        assert '<b>x</b>' not in text
        assert '{$1$}' not in text
        assert '&lt;b&gt;x&lt;/b&gt;' in text
