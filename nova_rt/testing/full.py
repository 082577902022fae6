# SPDX-License-Identifier: Apache-2.0
"""FULL=1 runs the tests that take minutes, and more rounds of others."""

import os

import pytest

WANTED = os.environ.get('FULL') == '1'
REASON = 'takes minutes: FULL=1 runs it'

only = pytest.mark.skipif(not WANTED, reason=REASON)
