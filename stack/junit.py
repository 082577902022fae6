# SPDX-License-Identifier: Apache-2.0
"""Tempest's results as JUnit XML."""

from collections import Counter
import os
from pathlib import Path
import re
from typing import Any

from junitparser import Error
from junitparser import Failure
from junitparser import Skipped
from junitparser import TestCase
from junitparser import TestSuite
import subunit
import testtools

# A test as testtools has it: id, status, details and timestamps.
Test = Any

# The control characters that XML does not allow, such as a terminal's escape.
NOT_IN_XML = re.compile(r'[\x00-\x08\x0b\x0c\x0e-\x1f]')
Result = Error | Failure | Skipped
# By the last state of a test: its outcome, and its result in JUnit XML.
ENDS: dict[str, tuple[str, type[Result] | None]] = {
    'success': ('passed', None),
    'skip': ('skipped', Skipped),
    'xfail': ('passed', None),
    'fail': ('failed', Failure),
    'uxsuccess': ('failed', Failure),
    # It started but never ended.
    'inprogress': ('failed', Error),
}


def convert(stream: Path, target: Path) -> Counter[str]:
    """Write a subunit stream as JUnit XML, and print a line per test.

    :returns: how many passed, failed and were skipped.
    """
    suite = TestSuite('tempest')
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
    """Write a result that says that nothing ran, and why."""
    suite = TestSuite('tempest')
    case = TestCase(name)
    case.result = [Skipped(reason)]
    suite.add_testcase(case)
    _write(suite, target)


def _add(suite: TestSuite, test: Test) -> str:
    """Add a test; return its outcome."""
    outcome, result = ENDS[test['status']]
    name = test['id'].partition('[')[0]
    # A class that is skipped or fails as a whole is "setUpClass (path)".
    owner, _, method = name.rpartition('.') if '(' not in name else (
        name.partition('(')[2].rstrip(')'), '', name.partition(' ')[0])
    began, ended = (test['timestamps'] + [None, None])[:2]
    seconds = (ended - began).total_seconds() if began and ended else 0.0
    case = TestCase(method, owner, round(seconds, 3))
    said = ''
    if result:
        reason = _reason(test)
        # The reason of a failure is in its last line.
        said = reason.strip().splitlines()[-1]
        entry = result(said)
        entry.text = reason
        case.result = [entry]
    suite.add_testcase(case)
    print(f'{outcome:8} {seconds:6.1f} s  {owner.removeprefix("nova_rt_tempest_plugin.tests.")}.'
          f'{method}{": " + said if said else ""}')
    return outcome


def _reason(test: Test) -> str:
    """Return why a test was skipped or failed."""
    details = test['details']
    for name in ('reason', 'traceback'):
        texts = [detail.as_text() for key, detail in details.items()
                 if key.startswith(name) and detail.as_text().strip()]
        if texts:
            return NOT_IN_XML.sub('', str(texts[0]))
    return str(test['status'])


def _write(suite: TestSuite, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    suite.write(os.fspath(target))
