# SPDX-License-Identifier: Apache-2.0
"""heat-translator's and tosca-parser's own tests, with and without us."""

from pathlib import Path
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tacker_rt.tests import upstream

SUITES = {'heat-translator': 'translator', 'tosca-parser': 'toscaparser'}
# Tests of what is fetched from elsewhere differ from hour to hour.
FETCHED = re.compile('url', re.IGNORECASE)


def results(python: Path | str, name: str, tmp_path: Path) -> dict[str, str]:
    """Return the result of each test of a suite, run by a Python."""
    report = tmp_path / 'report.xml'
    subprocess.run(
        [python, '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
         f'--junitxml={report}', SUITES[name]], cwd=upstream.sources(name),
        capture_output=True, check=False, timeout=1200)
    return {f'{case.get("classname")}.{case.get("name")}':
            case[0].tag if len(case) and case[0].tag != 'system-out'
            else 'passed'
            for case in ElementTree.parse(report).iter('testcase')
            if not FETCHED.search(case.get('name'))}


@pytest.mark.parametrize('name', SUITES)
def test_a_suite_gives_the_same_with_and_without_us(name, tmp_path):
    theirs = results(upstream.without_us(), name, tmp_path)
    ours = results(sys.executable, name, tmp_path)
    assert ours == theirs
    passed = sum(each == 'passed' for each in ours.values())
    assert passed > 100
    print(f'{name}: {passed} of {len(ours)} passed, with and without us')
