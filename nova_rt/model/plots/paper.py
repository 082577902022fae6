# SPDX-License-Identifier: Apache-2.0
"""Figures 6 and 7 and Table 3 of the OpenStack paper, from the model."""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import Protocol
from typing import TypeVar

import numpy as np

from nova_rt.model import checks
from nova_rt.model import paper
from nova_rt.model import queueing
from nova_rt.model.plots import style

GAPS_US = [100.0, 250.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0, 3000.0,
           3500.0, 4000.0, 4500.0, 5000.0]
_T = TypeVar('_T')


class Track(Protocol):
    """Shows progress."""

    def __call__(self, items: Sequence[_T], label: str) -> Iterable[_T]:
        """Return the items, and show how many were taken."""


def figure_6(track: Track) -> Any:
    """Return Figure 6: equation (5) as lines, simulations as markers."""
    drawn, axes = style.canvas(2, 1, width=8, height=7.4, sharex=True)
    for axis, load, bandwidth in zip(
            axes, (0.5, 0.8), (0.8, 0.9), strict=True):
        lines = np.linspace(100, 5000, 200)
        services = [paper.service(gap, load) for gap in lines]
        simulated = np.array([paper.simulate(
            paper.service(gap, load), bandwidth, seed)
            for seed, gap in enumerate(track(GAPS_US, f'LD = {load}'))])
        for index, (name, values) in enumerate((
                ('mean', [queueing.mean(s, bandwidth) for s in services]),
                ('99th percentile', [queueing.percentile(
                    s, bandwidth, paper.LEVEL) for s in services]))):
            axis.plot(lines, 1e6 * np.array(values),
                      color=style.colour(index), label=f'{name}, equation (5)')
            axis.plot(GAPS_US, 1e6 * simulated[:, index], 'o', mec='white', ms=7,
                      color=style.colour(index),
                      label=f'{name}, simulated reservation')
        axis.set(yscale='log', ylabel='response time (µs)',
                 title=f'LD = {load}, Q/P = {bandwidth}, P = 2 ms')
        axis.legend(loc='lower right', fontsize=9.5)
    axes[1].set_xlabel('average inter-arrival time 1/λ (µs)')
    return drawn


def figure_7() -> Any:
    """Return Figure 7: equation (6) at three network bandwidths.

    The paper's conservative percentile, and the exact one beside it.
    """
    drawn, axes = style.canvas(2, 1, width=8, height=7.6, sharex=True)
    gaps = np.arange(60, 2501, 2.0)
    for index, megabits in enumerate((16, 32, 64)):
        rows = []
        for gap in gaps:
            try:
                point = paper.service(gap, 0.5, megabits * 1e6)
            except checks.ModelError:
                continue
            rows.append((
                gap, queueing.mean(point, 0.8),
                queueing.percentile_bound(point, 0.8, paper.LEVEL),
                queueing.percentile(point, 0.8, paper.LEVEL)))
        at, mean, bound, exact = np.array(rows).T
        name = f'σ = {megabits} Mbps'
        axes[0].plot(at, 1e6 * mean, color=style.colour(index), label=name)
        axes[1].plot(at, 1e6 * bound, color=style.colour(index),
                     label=f'{name}, bound (6)')
        axes[1].plot(at, 1e6 * exact, color=style.colour(index), lw=1.3,
                     ls=(0, (4, 2)), label=f'{name}, exact')
    axes[0].set(title='E[z] = 2048 B, LD = 0.5, P = 2 ms, Q/P = 0.8',
                ylabel='mean response (µs)')
    axes[1].set(xlabel='average inter-arrival time 1/λ (µs)',
                ylabel='99th percentile (µs)', xlim=(0, 2500))
    axes[0].legend(loc='upper right', fontsize=9.5)
    axes[1].legend(loc='lower right', fontsize=9.5, ncols=3)
    for axis in axes:
        axis.set(yscale='log', ylim=(1e3, 2e5))
    return drawn


def table_3(track: Track) -> Any:
    """Return Table 3 as bars: measured in the paper, simulated here."""
    drawn, axes = style.canvas(1, 2, width=12, height=5, sharey=True)
    ours = np.array([paper.row_errors(setting, GAPS_US) for setting in track(
        paper.TABLE_3, 'Table 3')])
    theirs = np.array([setting.measured for setting in paper.TABLE_3])
    names = [f'{s.size_bytes} B, LD {s.load}\nQ/P {s.bandwidth}'
             for s in paper.TABLE_3]
    rows = np.arange(len(names))
    for axis, column, name in zip(
            axes, (0, 2), ('mean', '99th percentile'), strict=True):
        for shift, values, who, index in (
                (-0.19, theirs, 'measured in the paper', 4),
                (0.19, ours, 'simulated reservation; 2048 B: bound (6)', 0)):
            bars = axis.barh(rows + shift, values[:, column + 1], 0.36,
                             color=style.colour(index), label=who)
            axis.bar_label(bars, [
                f'{value[column + 1]:.1f}%   RMSE {value[column]:,.0f} µs'
                for value in values], padding=4, fontsize=8.5)
        largest = max(theirs[:, column + 1].max(), ours[:, column + 1].max())
        axis.set(title=f'Error of the model, {name}', xlabel='MAPE (%)',
                 yticks=rows, yticklabels=names, xlim=(0, 1.45 * largest))
        axis.grid(axis='y', visible=False)
    axes[0].invert_yaxis()
    drawn.legend(*axes[0].get_legend_handles_labels(), ncols=2,
                 loc='outside lower center', fontsize=9.5)
    return drawn
