# SPDX-License-Identifier: Apache-2.0
"""FULL=1 runs the tests that take minutes, and more rounds of others."""

from collections.abc import Sequence
import os
from typing import Any

import pytest

WANTED = os.environ.get('FULL') == '1'
REASON = 'takes minutes: FULL=1 runs it'

only = pytest.mark.skipif(not WANTED, reason=REASON)


def some(cases: Sequence[Any], count: int) -> Sequence[Any]:
    """Return all cases with FULL=1, else about so many that reach from first to last."""
    if WANTED:
        return cases
    step = max(1, len(cases) // count)
    return cases[step - 1::step]
