# SPDX-License-Identifier: Apache-2.0
"""Our filter in an api-paste.ini."""

import pathlib
import sys

import pytest

from nova_rt.api import paste_ini

SHIPPED = (pathlib.Path(sys.prefix) / 'etc/nova/api-paste.ini').read_text()


def pipelines(text):
    return [line.split() for line in text.splitlines()
            if line.startswith('keystone')
            and line.split()[-1] == paste_ini.APPLICATION]


def test_the_filter_is_last_in_both_of_novas_pipelines():
    found = pipelines(paste_ini.added(SHIPPED))
    assert [each[-2] for each in found] == [paste_ini.FILTER] * 2


def test_nothing_but_pipelines_and_our_section_is_changed():
    before = SHIPPED.splitlines()
    after = paste_ini.added(SHIPPED).splitlines()
    changed = [new for old, new in zip(before, after, strict=False)
               if old != new]
    assert all(line.startswith('keystone') for line in changed)
    assert after[len(before):] == ['', *paste_ini.SECTION.splitlines()]


def test_adding_twice_is_adding_once():
    once = paste_ini.added(SHIPPED)
    assert paste_ini.added(once) == once


def test_removing_gives_the_old_text_back():
    assert paste_ini.removed(paste_ini.added(SHIPPED)) == SHIPPED


def test_our_section_may_stand_before_others():
    text = paste_ini.SECTION + '\n' + SHIPPED
    assert paste_ini.added(text).count('[filter:rt_reservations]') == 1


def test_the_file_of_another_service_is_refused():
    with pytest.raises(paste_ini.NoPipelineError, match='nova-api'):
        paste_ini.added('[pipeline:glance-api]\npipeline = cors rootapp\n')
