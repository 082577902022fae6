# SPDX-License-Identifier: Apache-2.0
import pytest


@pytest.fixture
def proc(tmp_path):
    """What procfs says of a machine as it is after boot."""
    kernel = tmp_path / 'sys/kernel'
    kernel.mkdir(parents=True)
    for name, value in (('sched_rt_runtime_us', 950_000), ('sched_rt_period_us', 1_000_000),
                        ('sched_deadline_period_min_us', 100),
                        ('sched_deadline_period_max_us', 1 << 22)):
        (kernel / name).write_text(f'{value}\n')
    return tmp_path


@pytest.fixture
def unlimited(proc):
    (proc / 'sys/kernel/sched_rt_runtime_us').write_text('-1\n')
    return proc
