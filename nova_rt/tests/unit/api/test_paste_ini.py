# SPDX-License-Identifier: Apache-2.0
"""Our filter and our API in an api-paste.ini."""

import configparser
import pathlib
import sys

import pytest

from nova_rt.api import paste_ini

SHIPPED = (pathlib.Path(sys.prefix) / 'etc/nova/api-paste.ini').read_text()


def parsed(text):
    ini = configparser.RawConfigParser(delimiters=('=', ':'))
    ini.optionxform = str
    ini.read_string(text)
    return ini


def pipelines(text):
    return [line.split() for line in text.splitlines()
            if line.startswith('keystone')
            and line.split()[-1] == paste_ini.APPLICATION]


def test_the_filter_is_last_in_both_of_novas_pipelines():
    found = pipelines(paste_ini.added(SHIPPED))
    assert [each[-2] for each in found] == [paste_ini.FILTER] * 2


def test_the_api_has_the_filters_of_novas_own():
    ini = parsed(paste_ini.added(SHIPPED))
    theirs = parsed(SHIPPED)['composite:openstack_compute_api_v21']['keystone'].split()
    assert ini['composite:rt_api']['keystone'].split() == [*theirs[:-1], 'rt_api_app']


def test_the_apis_root_needs_no_token():
    urlmap = parsed(paste_ini.added(SHIPPED))['composite:osapi_compute']
    assert urlmap['/rt'] == 'rt_versions'
    assert urlmap['/rt/+'] == 'rt_api'
    assert urlmap['/v2.1/+'] == 'openstack_compute_api_v21'


def test_nothing_but_pipelines_paths_and_our_sections_is_changed():
    before, after = parsed(SHIPPED), parsed(paste_ini.added(SHIPPED))
    ours = set(after) - set(before)
    assert ours == {
        'filter:rt_reservations', 'composite:rt_api', 'app:rt_api_app', 'app:rt_versions'}
    changed = {(section, option) for section in before for option in after[section]
               if before[section].get(option) != after[section][option]}
    assert changed == {
        ('composite:osapi_compute', '/rt'), ('composite:osapi_compute', '/rt/+'),
        ('composite:openstack_compute_api_v21', 'keystone'),
        ('composite:openstack_compute_api_v21_legacy_v2_compatible', 'keystone')}


def test_adding_twice_is_adding_once():
    once = paste_ini.added(SHIPPED)
    assert paste_ini.added(once) == once


def test_what_an_older_release_has_added_is_completed():
    older = SHIPPED.replace(
        f' {paste_ini.APPLICATION}\n', f' {paste_ini.FILTER} {paste_ini.APPLICATION}\n'
    ) + '\n' + paste_ini.FILTER_SECTION
    assert paste_ini.added(older) == paste_ini.added(SHIPPED)


def test_removing_gives_the_old_text_back():
    assert paste_ini.removed(paste_ini.added(SHIPPED)) == SHIPPED


def test_our_sections_may_stand_before_others():
    text = paste_ini.FILTER_SECTION + '\n' + SHIPPED
    assert paste_ini.added(text).count('[filter:rt_reservations]') == 1


@pytest.mark.parametrize('text', [
    '[pipeline:glance-api]\npipeline = cors rootapp\n',
    '[composite:osapi_compute]\nuse = x\n/: y\n',
    f'[composite:x]\nkeystone = authtoken {paste_ini.APPLICATION}\n'])
def test_the_file_of_another_service_is_refused(text):
    with pytest.raises(paste_ini.NoPipelineError, match='nova-api'):
        paste_ini.added(text)
