# SPDX-License-Identifier: Apache-2.0
"""A schedule as a Gantt chart."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from nova_rt.model import simulator
from nova_rt.model import tasks as tasks_
from nova_rt.model.plots import style

MANY = 8
# Of more tasks, those are drawn whose jobs come nearest to their deadlines.
MOST = 30


def draw(outcome: simulator.Outcome, tasks: Sequence[tasks_.Task],
         loads: int, title: str) -> Any:
    """Return a figure: who runs on each pCPU above, each task's jobs below.

    :param loads: how many of the servers are load; they come first
    """
    pcpus = sorted({segment.pcpu for segment in outcome.segments})
    shown = _nearest_to_deadlines(outcome, len(tasks))
    heights = [max(2, len(pcpus)), max(2, 0.8 * len(shown))]
    drawn, axes = style.canvas(
        2, 1, width=12, height=1.4 + 0.42 * sum(heights), sharex=True,
        height_ratios=heights)
    _pcpus(axes[0], outcome, len(tasks), pcpus, loads)
    _tasks(axes[1], outcome, tasks, shown)
    if len(shown) < len(tasks):
        title += f'\nBelow: the {len(shown)} nearest to their deadlines'
    axes[0].set_title(title)
    axes[1].set(xlim=(0, outcome.horizon_us / 1e3), xlabel='time (ms)')
    return drawn


def _nearest_to_deadlines(outcome: simulator.Outcome, tasks: int) -> list[int]:
    """Return the indices of the tasks to draw, ascending."""
    late = {index for index, _ in outcome.misses()}

    def margin(index: int) -> float:
        responses = outcome.responses(index)
        if index in late or not responses.size:
            return float(index not in late)
        return float(1 - responses.max() / outcome.deadlines[index])
    return sorted(sorted(range(tasks), key=margin)[:MOST])


def _pcpus(axis: Any, outcome: simulator.Outcome, tasks: int,
           pcpus: list[int], loads: int) -> None:
    rows = {pcpu: row for row, pcpu in enumerate(pcpus)}
    for pcpu, spans in _by(outcome.throttled, lambda segment: segment.pcpu if (
            segment.server >= loads) else None):
        axis.broken_barh(spans, (rows[pcpu] - 0.45, 0.9), facecolor='none',
                         edgecolor='#dfa8a3', hatch='////', lw=0)
    for (pcpu, task), spans in _by(
            outcome.segments, lambda segment: (segment.pcpu, segment.task)):
        axis.broken_barh(
            spans, (rows[pcpu] - 0.36, 0.72),
            color=style.FAINT if task >= tasks else style.colour(task), lw=0)
    for segment in outcome.segments:
        width = segment.end_us - segment.start_us
        if segment.task < tasks and width > outcome.horizon_us / 60:
            axis.text((segment.start_us + width / 2) / 1e3,
                      rows[segment.pcpu], str(segment.task + 1), ha='center',
                      va='center', color='white', fontsize=8.5)
    axis.set(yticks=list(rows.values()), ylim=(len(pcpus) - 0.4, -0.6),
             yticklabels=[f'pCPU {pcpu}' for pcpu in pcpus])
    axis.grid(axis='y', visible=False)
    axis.text(1, 1.02, 'grey: other load    hatched: throttled', ha='right',
              va='bottom', transform=axis.transAxes, fontsize=9,
              color='#57606a')


def _tasks(axis: Any, outcome: simulator.Outcome, tasks: Sequence[tasks_.Task],
           shown: list[int]) -> None:
    rows = {index: row for row, index in enumerate(shown)}
    for index, spans in _by(outcome.segments, lambda segment: segment.task if (
            segment.task in rows) else None):
        axis.broken_barh(spans, (rows[index] - 0.3, 0.6),
                         color=style.colour(index), lw=0)
    for index, row in rows.items():
        starts = outcome.arrivals[index, :outcome.jobs[index]] / 1e3
        axis.vlines(starts, row - 0.42, row + 0.42, color=style.INK, lw=1.1)
        axis.plot(starts + tasks[index].deadline_us / 1e3, [row - 0.42] * len(starts),
                  ls='', marker='v', ms=4, color=style.INK, clip_on=True)
    for late, job in outcome.misses():
        if late in rows:
            due = outcome.arrivals[late, job] + outcome.deadlines[late]
            axis.plot([due / 1e3], [rows[late]], 'X', color=style.BAD, ms=9, zorder=6)
    axis.set(yticks=range(len(shown)), ylim=(len(shown) - 0.4, -0.6),
             yticklabels=[f'{index + 1}: {tasks[index]}' for index in shown])
    axis.tick_params(axis='y', labelsize=9 if len(shown) > MANY else 10)
    axis.grid(axis='y', visible=False)


def _by(segments: Iterable[simulator.Segment],
        key: Callable[[simulator.Segment], Any]) -> list[tuple[Any, list[tuple[float, float]]]]:
    """Return the spans of segments by a key, without those whose key is None.

    One call draws many spans a hundred times as fast as many calls.
    """
    spans: dict[Any, list[tuple[float, float]]] = {}
    for segment in segments:
        spans.setdefault(key(segment), []).append(_span(segment))
    spans.pop(None, None)
    return list(spans.items())


def _span(segment: simulator.Segment) -> tuple[float, float]:
    return (segment.start_us / 1e3,
            (segment.end_us - segment.start_us) / 1e3)
