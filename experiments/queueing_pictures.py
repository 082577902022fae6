# SPDX-License-Identifier: Apache-2.0
"""Figure 6 and Table 3 of the OpenStack paper, as measured here."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments import output
from experiments import queueing
from experiments import statistics
from nova_rt.model.plots import style

NAMES = {'mean': 'average', 'p99': '99th percentile'}


def draw(folder: output.Folder, rows: Sequence[Sequence[queueing.Point]]
         ) -> None:
    """Draw Figure 6 and Table 3."""
    with style.look():
        folder.picture('figure6', _figure_6(rows))
        folder.picture('table3', _table_3(rows))


def _figure_6(rows: Sequence[Sequence[queueing.Point]]) -> Any:
    """Draw the equations as lines and the paired measurements as marks."""
    small = [row for row in rows if row[0].setting.size_bytes == 128]
    drawn, axes = style.canvas(len(small), 1, 8, 3.6 * len(small),
                               sharex=True, squeeze=False)
    for axis, row in zip(axes[:, 0], small, strict=True):
        gaps = [point.gap_us for point in row]
        for index, (level, statistic) in enumerate(queueing.LEVELS.items()):
            colour = style.colour(index)
            axis.plot(gaps, [point.expected(level) for point in row],
                      color=colour, label=f'{NAMES[level]}, equation')
            axis.plot(gaps, [statistics.paired(point.series(level), statistic)
                             for point in row], 'o', mec='white', ms=7,
                      color=colour, label='measured')
            axis.plot(gaps, [statistic(point.measured) for point in row],
                      'x', ms=6, color=colour, label='as it came')
        setting = row[0].setting
        axis.set(yscale='log', ylabel='response time (µs)',
                 title=f'LD = {setting.load}, Q/P = {setting.bandwidth}, '
                       'P = 2 ms, 128 B')
        axis.legend(loc='lower right', fontsize=9, ncols=2)
    axes[-1, 0].set_xlabel('average inter-arrival time 1/λ (µs)')
    return drawn


def _table_3(rows: Sequence[Sequence[queueing.Point]]) -> Any:
    table: list[dict[str, Any]] = [
        dict(zip(queueing.TABLE_HEADER, queueing.table_row(row), strict=True))
        for row in rows]
    drawn, axes = style.canvas(1, 2, 12, 1.2 + 0.75 * len(rows), sharey=True)
    places = np.arange(len(rows))
    for axis, level in zip(axes, queueing.LEVELS, strict=True):
        for shift, key, label, index in (
                (-0.27, 'mape_paper', 'the paper', 4),
                (0.0, 'mape', 'ours, as it came', 5),
                (0.27, 'mape_paired', 'ours, chance removed', 0)):
            values = [row[f'{level}_{key}'] for row in table]
            axis.barh(places + shift, values, 0.25, label=label,
                      color=style.colour(index))
            ends = values
            if key != 'mape_paper':
                low, ends = ([row[f'{level}_{key}_{end}'] for row in table]
                             for end in ('low', 'high'))
                axis.hlines(places + shift, low, ends, color=style.INK, lw=1.2)
            for place, value, end in zip(places, values, ends, strict=True):
                axis.annotate(f'{value:.1f}%', (max(value, end), place + shift),
                              (4, 0), textcoords='offset points',
                              va='center', fontsize=8)
        axis.set(title=f'Error of the model, {NAMES[level]}',
                 xlabel='MAPE (%)', yticks=places, yticklabels=[
                     f'{row["bytes"]} B, LD {row["load"]}\n'
                     f'Q/P {row["bandwidth"]}' for row in table])
        axis.grid(axis='y', visible=False)
    axes[0].invert_yaxis()
    drawn.legend(*axes[0].get_legend_handles_labels(), ncols=3,
                 loc='outside lower center', fontsize=9.5)
    return drawn
