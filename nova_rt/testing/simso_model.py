# SPDX-License-Identifier: Apache-2.0
"""simso, an independent simulator of global fixed priorities on whole CPUs."""

from collections.abc import Sequence
import sys
import types

from nova_rt.model import tasks as tasks_

# Python 3.12 has it no more; simso needs it for schedulers in files of their own only.
sys.modules.setdefault('imp', types.ModuleType('imp'))

from simso import configuration  # noqa: E402
from simso import core  # noqa: E402


def simulate(tasks: Sequence[tasks_.Task], cpus: int, horizon_us: int) -> core.Model:
    """Return a model that has run, with rate-monotonic priorities; its times are in ms."""
    settings = configuration.Configuration()
    settings.duration = horizon_us * settings.cycles_per_ms // 1_000
    for number, task in enumerate(tasks, 1):
        settings.add_task(
            name=f't{number}', identifier=number, activation_date=0,
            wcet=task.wcet_us / 1e3, period=task.period_us / 1e3,
            deadline=task.deadline_us / 1e3)
    for number in range(1, cpus + 1):
        settings.add_processor(name=f'c{number}', identifier=number)
    settings.scheduler_info.clas = 'simso.schedulers.RM'
    settings.check_all()
    model = core.Model(settings)
    model.run_model()
    return model
