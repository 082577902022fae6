# SPDX-License-Identifier: Apache-2.0
"""JUnit's XML of tests that tempest ran."""

from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import subunit
import testtools

# What testtools makes of a test: its id, status, details and timestamps.
Test = Any

# By the last state of a test: what it counts as, and its element.
ENDS = {
    'success': ('passed', ''),
    'skip': ('skipped', 'skipped'),
    'xfail': ('passed', ''),
    'fail': ('failed', 'failure'),
    'uxsuccess': ('failed', 'failure'),
    # It began and never ended.
    'inprogress': ('failed', 'error'),
}


def convert(stream: Path, target: Path) -> Counter[str]:
    """Write a subunit stream as JUnit's XML, and a line for each test.

    :returns: how many passed, failed and were skipped.
    """
    suite = ElementTree.Element('testsuite', name='tempest')
    counts: Counter[str] = Counter()

    def ended(test: Test) -> None:
        # Lists of tests have states of their own.
        if test['status'] in ENDS:
            counts[_add(suite, test)] += 1
    result: Any = testtools.StreamToDict(ended)
    result.startTestRun()
    with stream.open('rb') as file:
        subunit.ByteStreamToStreamResult(
            file, non_subunit_name='stdout').run(result)
    result.stopTestRun()
    _write(suite, target)
    return counts


def skipped(name: str, reason: str, target: Path) -> None:
    """Write that nothing ran, and why."""
    suite = ElementTree.Element('testsuite', name='tempest')
    case = ElementTree.SubElement(suite, 'testcase', name=name)
    ElementTree.SubElement(case, 'skipped', message=reason)
    _write(suite, target)


def _add(suite: ElementTree.Element, test: Test) -> str:
    """Add one test; return what it counts as."""
    outcome, element = ENDS[test['status']]
    name = test['id'].partition('[')[0]
    # A class that is skipped or fails as a whole is "setUpClass (path)".
    owner, _, method = name.rpartition('.') if '(' not in name else (
        name.partition('(')[2].rstrip(')'), '', name.partition(' ')[0])
    began, ended = (test['timestamps'] + [None, None])[:2]
    seconds = (ended - began).total_seconds() if began and ended else 0.0
    case = ElementTree.SubElement(
        suite, 'testcase', classname=owner, name=method,
        time=f'{seconds:.3f}')
    reason = ''
    if element:
        reason = _reason(test)
        # The reason of a failure is in its last line.
        ElementTree.SubElement(
            case, element, message=reason.strip().splitlines()[-1],
        ).text = reason
    print(f'{outcome:8} {seconds:6.1f} s  {owner.removeprefix("nova_rt_tempest_plugin.tests.")}.'
          f'{method}{": " + reason.strip() if outcome == "skipped" else ""}')
    return outcome


def _reason(test: Test) -> str:
    """Return why a test was skipped or failed."""
    details = test['details']
    for name in ('reason', 'traceback'):
        texts = [detail.as_text() for key, detail in details.items()
                 if key.startswith(name) and detail.as_text().strip()]
        if texts:
            return str(texts[0])
    return str(test['status'])


def _write(suite: ElementTree.Element, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(
        target, encoding='unicode', xml_declaration=True)
