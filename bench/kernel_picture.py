# SPDX-License-Identifier: Apache-2.0
"""A picture of our kernel compared with the stock one."""

from collections.abc import Iterator
from pathlib import Path
import re
from typing import Any

from bench import kernel
from nova_rt.model.plots import style

BASE = Path(__file__).parent / 'kernel'
_ONE_SHARE = re.compile(r'^(\S+)=([\d.]+)% \(([\d.]+)\)')
# On one CPU, where the stock kernel has an interface for groups, too.
_SHOWN = ('alone', 'two-groups', 'root-hog', 'deadline', 'short-period',
          'long-period', 'nearly-all')


def draw(cases: list[kernel.Case]) -> tuple[str, str]:
    """Write shares, response times and the pipeline; return the paths."""
    with style.look():
        drawn, axes = style.canvas(1, 3, 14.0, 4.6)
        _shares(axes[0], cases)
        _response_times(axes[1], cases)
        _pipeline(axes[2], cases)
        return style.save(drawn, str(BASE))


def _find(cases: list[kernel.Case], cpus: int, name: str,
          ) -> Iterator[kernel.Case]:
    """Yield the first case of that name of each kernel."""
    for which in ('stock', 'ours'):
        yield from [case for case in cases if (
            case.kernel, case.cpus, case.name) == (which, cpus, name)][:1]


def _shares(axis: Any, cases: list[kernel.Case]) -> None:
    """Draw what the first group of each case got, and what it reserved."""
    for place, name in enumerate(_SHOWN):
        for case in _find(cases, 1, name):
            share = _ONE_SHARE.match(case.text)
            if not share:
                continue
            ours = case.kernel == 'ours'
            axis.barh(place + (0.2 if ours else -0.2), float(share[2]), 0.36,
                      color=style.colour(0 if ours else 1))
            axis.plot([float(share[3])] * 2, [place - 0.42, place + 0.42],
                      color=style.INK, lw=1.5)
    axis.barh([0], [0], color=style.colour(0), label='ours')
    axis.barh([0], [0], color=style.colour(1), label='stock')
    axis.plot([], [], color=style.INK, lw=1.5, label='reserved')
    axis.set(yticks=range(len(_SHOWN)), yticklabels=_SHOWN,
             xlabel='% of one CPU', title='What a group got')
    axis.invert_yaxis()
    axis.legend(loc='center right')


def _response_times(axis: Any, cases: list[kernel.Case]) -> None:
    series = {case.kernel: case.data.get('cdf', [])
              for case in _find(cases, 4, 'taskset')}
    for index, which in enumerate(('ours', 'stock')):
        values = [float(time) for time in series.get(which, [])]
        axis.plot([(index + 1) / 100 for index in range(len(values))], values,
                  color=style.colour(index),
                  label=which if values else f'{which}: not measured')
    axis.axvline(1, color=style.INK, lw=1, ls=(0, (4, 3)))
    axis.annotate('deadline', (1, 0.05), ha='right', xytext=(-4, 0),
                  textcoords='offset points')
    axis.set(xlabel='response time / period', ylabel='part of the jobs',
             title='Fifteen tasks, 4 CPUs, 7.5 of 10 ms')
    axis.legend(loc='center right')


def _pipeline(axis: Any, cases: list[kernel.Case]) -> None:
    names = {'group': 'one group', 'deadline': 'a reservation per thread',
             'group-buffered': 'one group, two buffers',
             'deadline-buffered': 'per thread, two buffers'}
    series = {case.kernel: case.data for case in _find(cases, 1, 'pipeline')}
    for index, (key, label) in enumerate(names.items()):
        pairs = [point.split(':') for point in series.get('ours', {}).get(key, [])]
        axis.plot([int(percent) for percent, _ in pairs],
                  [int(late) for _, late in pairs], 'o-', ms=4,
                  color=style.colour(index),
                  label=label if pairs else f'{label}: not measured')
    axis.set(xlabel='% of the CPU reserved', ylabel='periods that were late',
             title='Audio pipeline of three threads')
    axis.set_ylim(top=1.45 * axis.get_ylim()[1])  # Room for the legend.
    axis.legend(loc='upper right', ncols=2, fontsize=8, handlelength=1.2)
