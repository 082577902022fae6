# SPDX-License-Identifier: Apache-2.0
"""What becomes of tempest's results."""

from xml.etree import ElementTree

import pytest
import subunit

from stack import junit


@pytest.fixture
def convert(tmp_path):
    def converted(*events):
        stream = tmp_path / 'results'
        with stream.open('wb') as file:
            writer = subunit.StreamResultToBytes(file)
            for event in events:
                writer.status(**event)
        target = tmp_path / 'junit' / 'tempest.xml'
        counts = junit.convert(stream, target)
        return counts, ElementTree.parse(target).findall('testcase')
    return converted


def ended(name, status, **more):
    return [{'test_id': name, 'test_status': 'inprogress'},
            *([more] if more else []),
            {'test_id': name, 'test_status': status}]


def ended_with(name, status, what, text):
    return ended(name, status, test_id=name, file_name=what, eof=True,
                 file_bytes=text.encode(), mime_type='text/plain')


def test_each_end_of_a_test_is_counted(convert):
    counts, cases = convert(
        *ended('a.T.test_1[id-x]', 'success'), *ended('a.T.test_2', 'success'),
        *ended_with('a.T.test_3', 'skip', 'reason', 'One host only.'),
        *ended_with('a.T.test_4', 'fail', 'traceback', 'Traceback\nError: no'))
    assert counts == {'passed': 2, 'skipped': 1, 'failed': 1}
    assert [case.get('name') for case in cases] == [
        'test_1', 'test_2', 'test_3', 'test_4']


def test_reasons_are_where_others_look_for_them(convert):
    _, (skipped, failed) = convert(
        *ended_with('T.test_3', 'skip', 'reason', 'One host only.'),
        *ended_with('T.test_4', 'fail', 'traceback', 'Traceback\nError: no'))
    assert skipped.find('skipped').get('message') == 'One host only.'
    assert failed.find('failure').get('message') == 'Error: no'


def test_a_class_that_is_skipped_as_a_whole_is_named(convert):
    _, (case,) = convert(
        *ended_with('setUpClass (a.b.VnfTest)', 'skip', 'reason', 'No package.'))
    assert (case.get('classname'), case.get('name')) == (
        'a.b.VnfTest', 'setUpClass')


def test_a_test_that_never_ends_has_failed(convert):
    counts, _ = convert({'test_id': 'T.test', 'test_status': 'inprogress'})
    assert counts == {'failed': 1}


def test_characters_that_xml_does_not_allow_are_dropped(convert):
    _, (case,) = convert(
        *ended_with('T.test', 'fail', 'traceback', 'Error: \x1b[31mno'))
    assert case.find('failure').get('message') == 'Error: [31mno'


def test_where_no_stack_can_be_the_reason_is_one_skip(tmp_path):
    junit.skipped('plugin', 'No root.', tmp_path / 'tempest.xml')
    case, = ElementTree.parse(tmp_path / 'tempest.xml').iter('testcase')
    assert case.find('skipped').get('message') == 'No root.'
