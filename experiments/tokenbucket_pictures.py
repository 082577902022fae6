# SPDX-License-Identifier: Apache-2.0
"""Figure 7 of the OpenStack paper, as measured here."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments import output
from experiments import queueing as requests_
from experiments import statistics
from experiments import tokenbucket
from nova_rt.model import checks
from nova_rt.model.plots import style

TITLES = {'mean': 'average', 'p99': '99th percentile'}


def draw(folder: output.Folder,
         series: Sequence[Sequence[tokenbucket.Point]]) -> None:
    """Draw average and percentile, one colour per bandwidth."""
    with style.look():
        folder.picture('figure7', _figure_7(series))


def _figure_7(series: Sequence[Sequence[tokenbucket.Point]]) -> Any:
    drawn, axes = style.canvas(2, 1, 8, 7.6, sharex=True)
    for index, points in enumerate(series):
        colour = style.colour(index)
        for axis, (level, statistic) in zip(
                axes, requests_.LEVELS.items(), strict=True):
            axis.plot(*_line(points[0], level), color=colour,
                      label=f'{points[0].megabits} Mbps, equation')
            axis.plot([point.gap_us for point in points],
                      [statistics.paired(point.series(level), statistic)
                       for point in points], 'o', mec='white', ms=7,
                      color=colour, label='measured')
    for axis, title in zip(axes, TITLES.values(), strict=True):
        axis.set(yscale='log', ylabel=f'{title} (µs)')
    axes[0].set_title('E[z] = 2048 B, LD = 0.5, P = 2 ms, Q/P = 0.8')
    drawn.legend(*axes[0].get_legend_handles_labels(), ncols=3,
                 loc='outside lower center', fontsize=9)
    axes[1].set(xlabel='average inter-arrival time 1/λ (µs)', xlim=(0, 2600))
    return drawn


def _line(point: tokenbucket.Point, level: str
          ) -> tuple[list[float], list[float]]:
    gaps, values = [], []
    for gap in np.arange(60.0, 2501.0, 5.0):
        try:
            values.append(tokenbucket.Point(
                point.megabits, float(gap), point.measured, point.ideal,
                point.delay).expected(level))
        except checks.ModelError:
            continue
        gaps.append(float(gap))
    return gaps, values
