# SPDX-License-Identifier: Apache-2.0
"""The tests in machines of their own, where they are not wanted."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize('script', ['devstack/real/test', 'kolla/real/test'])
def test_without_full_it_is_skipped_with_a_reason(script):
    done = subprocess.run((ROOT / script,), capture_output=True, text=True,
                          env={'PATH': os.environ['PATH'], 'HOME': '/'})
    assert done.returncode == 0
    assert done.stderr == f'{script}: skipped: it takes half an hour: set FULL=1\n'
    assert done.stdout == '0 passed, 0 failed, 1 skipped\n'
