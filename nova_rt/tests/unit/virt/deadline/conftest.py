# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_rt.testing import fake_proc


@pytest.fixture
def proc(tmp_path):
    """What procfs says of a machine as it is after boot."""
    return fake_proc.write(tmp_path)


@pytest.fixture
def unlimited(proc):
    return fake_proc.write(proc, sched_rt_runtime_us=-1)
