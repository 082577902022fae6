# SPDX-License-Identifier: Apache-2.0
"""Supply and demand bound functions of a task set in a reservation."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from nova_rt import wording
from nova_rt.model import edf
from nova_rt.model import edf_demand
from nova_rt.model import fixed_priority
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.model import verdict
from nova_rt.model.plots import style

STEPS = 1500
# Of the length of a window, in µs.
_Demand = Callable[[int], int]


def draw(tasks: Sequence[tasks_.Task], resource: supply.Resource) -> Any:
    """Return a figure: fixed priorities on the left, EDF on the right.

    Each side shows the task that decides: the one that fails, or the one
    whose slack is the smallest part of its deadline.
    """
    drawn, axes = style.canvas(1, 2, width=12, height=4.8)
    fixed = fixed_priority.analyse(tasks, resource)
    _side(axes[0], tasks, resource, fixed, 'fixed priorities',
          *_fixed_demand(tasks, resource, fixed))
    earliest = edf.analyse(tasks, resource)
    _side(axes[1], tasks, resource, earliest, 'EDF',
          *_edf_demand(tasks, resource, earliest))
    drawn.suptitle(
        f'Θ = {resource.budget_us / 1000:g} ms every Π = '
        f'{resource.period_us / 1000:g} ms on '
        f'{wording.counted(resource.vcpus, "vCPU")}: bandwidth '
        f'{float(resource.bandwidth):.3g}, utilisation '
        f'{float(tasks_.utilisation(tasks)):.3g}', x=0.01, ha='left',
        fontweight='bold', color=style.INK)
    return drawn


def _fixed_demand(tasks: Sequence[tasks_.Task], resource: supply.Resource,
                  answer: verdict.Verdict) -> tuple[int, _Demand]:
    if answer.failure is not None:
        index = answer.failure.task
    else:
        index = max(range(len(tasks)), key=lambda i: (
            answer.response_us[i] or 0) / tasks[i].deadline_us)
    order = tasks_.deadline_monotonic(tasks)
    higher = [(tasks[i], answer.response_us[i] or tasks[i].deadline_us)
              for i in order[:order.index(index)]]
    return index, lambda window: fixed_priority.demand(
        tasks[index], higher, resource.vcpus, window)


def _edf_demand(tasks: Sequence[tasks_.Task], resource: supply.Resource,
                answer: verdict.Verdict) -> tuple[int, _Demand]:
    if resource.vcpus == 1:
        return 0, lambda window: sum(edf_demand.dbf(task, window) for task in tasks)
    index = (answer.failure.task if answer.failure is not None else
             min(range(len(tasks)), key=lambda i: resource.sbf(
                 tasks[i].deadline_us) - edf_demand.demand(
                     tasks, i, resource.vcpus, tasks[i].deadline_us)))
    return index, lambda window: edf_demand.demand(
        tasks, index, resource.vcpus, window)


def _side(axis: Any, tasks: Sequence[tasks_.Task],
          resource: supply.Resource, answer: verdict.Verdict, local: str,
          index: int, demand: _Demand) -> None:
    own = tasks[index]
    is_edf = local == 'EDF'
    end = own.deadline_us * (3 if is_edf else 1)
    end = max(end, 4 * resource.period_us)
    first = own.deadline_us if is_edf and resource.vcpus > 1 else (
        own.wcet_us if not is_edf else 0)
    windows = np.unique(np.linspace(0, end, STEPS).astype(int))
    shown = [int(w) for w in windows
             if first <= w <= (end if is_edf else own.deadline_us)]
    axis.plot(windows / 1e3, [resource.sbf(int(w)) / 1e3 for w in windows],
              color=style.colour(0), label='supply bound')
    axis.plot(windows / 1e3, [
        float(resource.lsbf(int(w))) / 1e3 for w in windows],
        color=style.colour(0), lw=1, ls=(0, (4, 3)), label='linear bound')
    axis.plot(np.array(shown) / 1e3, [demand(w) / 1e3 for w in shown],
              color=style.colour(1), label=f'demand, {own}')
    at, text = _point(answer, index, is_edf)
    if at is not None:
        axis.axvline(at / 1e3, color=style.INK, lw=1, ls=':')
        # On the side with more room.
        side, align = (5, 'left') if at < end / 2 else (-5, 'right')
        axis.annotate(text, (at / 1e3, 0.03), xytext=(side, 0), ha=align,
                      textcoords='offset points', fontsize=9.5,
                      xycoords=axis.get_xaxis_transform())
    word = 'schedulable' if answer.schedulable else 'not schedulable'
    axis.set(xlabel='length of the window (ms)', ylabel='CPU time (ms)',
             title=f'{local}: {word}', xlim=(0, end / 1e3), ylim=(0, None))
    axis.legend(loc='upper left', fontsize=9.5)


def _point(answer: verdict.Verdict, index: int,
           is_edf: bool) -> tuple[int | None, str]:
    if answer.failure is not None:
        return (answer.failure.instant_us,
                f'fails: {answer.failure.missing_us / 1e3:g} ms missing at '
                f'{answer.failure.instant_us / 1e3:g} ms')
    response = None if is_edf else answer.response_us[index]
    return response, ('' if response is None
                      else f'response ≤ {response / 1e3:g} ms')
