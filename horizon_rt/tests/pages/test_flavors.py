# SPDX-License-Identifier: Apache-2.0
"""The form for a flavor, rendered by Horizon."""

import pytest

from horizon_rt.tests.pages import told

FORM = f'/admin/real_time/flavors/{told.FLAVOR}/'
SPECS = f'/compute/flavors/{told.FLAVOR}/os-extra_specs'


@pytest.fixture
def admin(log_in):
    return log_in('admin')


@pytest.fixture
def full(cloud):
    told.everything(cloud)
    return cloud


def enter(**fields):
    """Return all fields; those that are not given are empty."""
    return {**dict.fromkeys(('runtime_us', 'period_us', 'min_runtime_us', 'criticality',
                             'policy', 'priority'), ''), **fields}


def test_the_form_shows_what_the_flavor_has(admin, full):
    page = admin.get(FORM)
    assert page.status_code == 200
    assert b'value="30000"' in page.content
    assert b'Reservation of the flavor rt1' in page.content


@pytest.mark.parametrize(('fields', 'field', 'sentence'), [
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
        admin, full, fields, field, sentence):
    page = admin.post(FORM, enter(**fields))
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


def test_what_nova_refuses_is_said_and_what_was_removed_is_put_back(admin, full):
    told.flavor(full, {**told.SPECS, 'hw:cpu.rt_criticality': 'C'})
    full.says('POST', SPECS, {'badRequest': {'code': 400, 'message':
                              'At most 95% can be reserved: lower cpu.rt_runtime_us.'}}, 400)
    page = admin.post(FORM, enter(runtime_us='99000', period_us='100000'))
    assert page.status_code == 200
    assert 'At most 95% can be reserved: lower cpu.rt_runtime_us.' in page.content.decode()
    assert full.requests('DELETE') == [(f'{SPECS}/hw:cpu.rt_criticality', None)]
    assert full.requests('POST')[-1] == (
        SPECS, {'extra_specs': {'hw:cpu.rt_criticality': 'C'}})
    # Putting it back was refused as well.
    assert 'The flavor has lost hw:cpu.rt_criticality: set them again.' in page.content.decode()


def test_a_flavor_that_there_is_not_is_a_sentence_on_the_index(admin, full):
    page = admin.get('/admin/real_time/flavors/none/', follow=True)
    assert page.redirect_chain == [('/admin/real_time/', 302)]
    assert page.status_code == 200


def test_markup_in_a_name_is_text(admin, full):
    told.flavor(full, name='<b>x</b>{$1$}')
    for path in (FORM, '/admin/real_time/'):
        text = admin.get(path).content.decode()
        assert '<b>x</b>' not in text
        assert '{$1$}' not in text
        assert '&lt;b&gt;x&lt;/b&gt;' in text
