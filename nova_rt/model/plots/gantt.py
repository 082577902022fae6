# SPDX-License-Identifier: Apache-2.0
"""A schedule as a Gantt chart."""

from collections.abc import Sequence
from typing import Any

from nova_rt.model import simulator
from nova_rt.model import tasks as tasks_
from nova_rt.model.plots import style

MANY = 8


def draw(outcome: simulator.Outcome, tasks: Sequence[tasks_.Task],
         loads: int, title: str) -> Any:
    """Return a figure: who runs on each pCPU above, each task's jobs below.

    :param loads: how many of the servers are load; they come first
    """
    pcpus = sorted({segment.pcpu for segment in outcome.segments})
    heights = [max(2, len(pcpus)), max(2, 0.8 * len(tasks))]
    drawn, axes = style.canvas(
        2, 1, width=12, height=1.4 + 0.42 * sum(heights), sharex=True,
        height_ratios=heights)
    _pcpus(axes[0], outcome, len(tasks), pcpus, loads)
    _tasks(axes[1], outcome, tasks)
    axes[0].set_title(title)
    axes[1].set(xlim=(0, outcome.horizon_us / 1e3), xlabel='time (ms)')
    return drawn


def _pcpus(axis: Any, outcome: simulator.Outcome, tasks: int,
           pcpus: list[int], loads: int) -> None:
    rows = {pcpu: row for row, pcpu in enumerate(pcpus)}
    for segment in outcome.throttled:
        if segment.server >= loads:
            axis.broken_barh([_span(segment)], (rows[segment.pcpu] - 0.45,
                                                0.9),
                             facecolor='none', edgecolor='#dfa8a3',
                             hatch='////', lw=0)
    for segment in outcome.segments:
        load = segment.task >= tasks
        axis.broken_barh(
            [_span(segment)], (rows[segment.pcpu] - 0.36, 0.72),
            color=style.FAINT if load else style.colour(segment.task), lw=0)
        width = segment.end_us - segment.start_us
        if not load and width > outcome.horizon_us / 60:
            axis.text((segment.start_us + width / 2) / 1e3,
                      rows[segment.pcpu], str(segment.task + 1), ha='center',
                      va='center', color='white', fontsize=8.5)
    axis.set(yticks=list(rows.values()), ylim=(len(pcpus) - 0.4, -0.6),
             yticklabels=[f'pCPU {pcpu}' for pcpu in pcpus])
    axis.grid(axis='y', visible=False)
    axis.text(1, 1.02, 'grey: other load    hatched: throttled', ha='right',
              va='bottom', transform=axis.transAxes, fontsize=9,
              color='#57606a')


def _tasks(axis: Any, outcome: simulator.Outcome,
           tasks: Sequence[tasks_.Task]) -> None:
    for index, task in enumerate(tasks):
        for segment in outcome.segments:
            if segment.task == index:
                axis.broken_barh([_span(segment)], (index - 0.3, 0.6),
                                 color=style.colour(index), lw=0)
        for arrival in outcome.arrivals[index, :outcome.jobs[index]]:
            start = arrival / 1e3
            due = (arrival + task.deadline_us) / 1e3
            axis.plot([start, start], [index + 0.42, index - 0.42],
                      color=style.INK, lw=1.1)
            axis.plot([due], [index - 0.42], marker='v', ms=4,
                      color=style.INK, clip_on=True)
    for late, job in outcome.misses():
        due = outcome.arrivals[late, job] + outcome.deadlines[late]
        axis.plot([due / 1e3], [late], 'X', color=style.BAD, ms=9, zorder=6)
    axis.set(yticks=range(len(tasks)), ylim=(len(tasks) - 0.4, -0.6),
             yticklabels=[f'{i}: {task}' for i, task in enumerate(tasks, 1)])
    axis.tick_params(axis='y', labelsize=9 if len(tasks) > MANY else 10)
    axis.grid(axis='y', visible=False)


def _span(segment: simulator.Segment) -> tuple[float, float]:
    return (segment.start_us / 1e3,
            (segment.end_us - segment.start_us) / 1e3)
