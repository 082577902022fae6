# SPDX-License-Identifier: Apache-2.0
"""A stand-in for procfs: what the kernel's scheduler is set to.

It keeps tests apart from this machine's own settings, which another test may change
meanwhile (see :mod:`nova_rt.testing.rt_sysctl`).
"""

import pathlib

# In µs; see sched_rt_sysctls and sched_dl_sysctls in kernel/sched.
_AFTER_BOOT = {
    'sched_rt_runtime_us': 950_000, 'sched_rt_period_us': 1_000_000,
    'sched_deadline_period_min_us': 100, 'sched_deadline_period_max_us': 1 << 22}


def write(proc: pathlib.Path, **values: int) -> pathlib.Path:
    """Write the settings of kernel.sched_* in a directory; return the directory.

    :param values: those that differ from what they are after boot
    """
    kernel = proc / 'sys/kernel'
    kernel.mkdir(parents=True, exist_ok=True)
    for name, value in (_AFTER_BOOT | values).items():
        (kernel / name).write_text(f'{value}\n')
    # Nothing is mounted that would count what groups use.
    (proc / 'self').mkdir(exist_ok=True)
    (proc / 'self/mounts').write_text('')
    return proc
