# SPDX-License-Identifier: Apache-2.0
"""The tests in machines of their own, where they are not wanted."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize(('script', 'takes'), [
    ('devstack/real/test', 'half an hour'),
    ('kolla/real/test', 'three quarters of an hour')])
def test_without_full_it_is_skipped_with_a_reason(script, takes):
    done = subprocess.run((ROOT / script,), capture_output=True, text=True,
                          env={'PATH': os.environ['PATH'], 'HOME': '/'})
    assert done.returncode == 0
    assert done.stderr == f'{script}: skipped: it takes {takes}: set FULL=1\n'
    assert done.stdout == '0 passed, 0 failed, 1 skipped\n'


def test_a_cloud_of_unknown_servers_is_refused():
    done = subprocess.run((ROOT / 'kolla/real/test',), capture_output=True, text=True,
                          env={'PATH': os.environ['PATH'], 'HOME': '/', 'KIND': 'bare'})
    assert done.returncode == 1
    assert done.stderr == 'kolla/real/test: KIND is machine or container, not bare\n'
