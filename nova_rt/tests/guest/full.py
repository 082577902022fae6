# SPDX-License-Identifier: Apache-2.0
"""Which tests run with FULL=1 only: what is slow in an emulator."""

import os

import pytest

only = pytest.mark.skipif(
    os.environ.get('FULL') != '1',
    reason='takes minutes in an emulator: FULL=1 runs it')
