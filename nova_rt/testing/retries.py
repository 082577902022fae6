# SPDX-License-Identifier: Apache-2.0
"""Tests of processes that must get a CPU in time, on machines that may be busy."""

import pytest

ONCE = pytest.mark.flaky(reruns=1)
"""Such a test is tried once more; ``tools/run-tests`` names it at the end."""
