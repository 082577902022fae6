# SPDX-License-Identifier: Apache-2.0
"""Where the fluid formula holds, and how synthesised reservations do."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from nova_rt.model import campaign
from nova_rt.model import region
from nova_rt.model.plots import style


def fluid(points: Sequence[region.Point]) -> Any:
    """Return the map of the fluid formula's error in the mean.

    Blue: it predicts too long a time; red: too short a time, which is the
    dangerous side. The black line is 10%.
    """
    drawn, axes = style.canvas(
        2, len(region.BANDWIDTHS), width=12, height=6, sharex=True,
        sharey=True)
    image = None
    for row, shared in enumerate((True, False)):
        for column, bandwidth in enumerate(region.BANDWIDTHS):
            axis = axes[row, column]
            image = _panel(axis, [
                point for point in points if point.shared == shared
                and point.bandwidth == bandwidth])
            what = 'pCPU shared' if shared else 'pCPU otherwise idle'
            axis.set_title(f'Q/P = {bandwidth}, {what}', fontsize=10.5)
            if row == 1:
                axis.set_xlabel('period / mean processing time')
        axes[row, 0].set_ylabel('load ρ')
    drawn.colorbar(image, ax=axes, label='error of the formula (%)',
                   shrink=0.8)
    good = region.largest_good_period(points)
    drawn.suptitle(
        'Nowhere within 10%' if good is None else 'Mean and 99th percentile '
        'are within 10% wherever the period is at most '
        f'{good:g} × the mean processing time', x=0.01, ha='left',
        fontweight='bold')
    return drawn


def _panel(axis: Any, points: Sequence[region.Point]) -> Any:
    error = np.array([[next(
        100 * point.mean_error for point in points
        if point.load == load and point.period == period)
        for period in region.PERIODS] for load in region.LOADS])
    columns = np.arange(len(region.PERIODS))
    rows = np.arange(len(region.LOADS))
    image = axis.imshow(error, cmap='RdBu', vmin=-60, vmax=60,
                        aspect='auto', origin='lower')
    axis.contour(columns, rows, np.abs(error), [100 * region.LIMIT],
                 colors='black', linewidths=1.4)
    for i in rows:
        for j in columns:
            value = error[i, j]
            axis.text(j, i, f'{value:+.0f}', ha='center', va='center',
                      fontsize=6.8,
                      color='white' if abs(value) > 42 else style.INK)
    axis.set(xticks=columns, yticks=rows, yticklabels=region.LOADS,
             xticklabels=[f'{period:g}' for period in region.PERIODS])
    axis.tick_params(axis='x', labelsize=8)
    axis.grid(visible=False)
    return image


def evaluation(shares: Sequence[tuple[Fraction, Fraction, int]],
               total: campaign.Tally) -> Any:
    """Return the reservations of many task sets, and their responses.

    :param shares: utilisation, bandwidth and tasks of each set
    :param total: the outcome of their simulations
    """
    drawn, axes = style.canvas(1, 2, width=12, height=4.8)
    load, width, tasks = np.array(
        [[float(value) for value in row] for row in shares]).T
    dots = axes[0].scatter(load, width, c=tasks, cmap='viridis', s=26)
    ends = [load.min() - 0.05, load.max() + 0.05]
    axes[0].plot(ends, ends, color=style.INK, lw=1, ls=(0, (4, 3)))
    axes[0].text(ends[1], ends[1], 'U', va='bottom', ha='right')
    axes[0].set(xlabel='utilisation U', ylabel='bandwidth found Θ/Π',
                ylim=(0, None),
                title=f'{len(shares)} task sets: mean U {load.mean():.3f}, '
                f'mean bandwidth {width.mean():.3f}')
    drawn.colorbar(dots, ax=axes[0], label='tasks')
    parts = np.cumsum(total.histogram) / total.histogram.sum()
    axes[1].plot(np.arange(1, parts.size + 1) / campaign.BINS, parts,
                 color=style.colour(0))
    axes[1].axvline(1, color=style.BAD, lw=1.4)
    axes[1].text(0.985, 0.05, 'deadline', rotation=90, color=style.BAD,
                 ha='right', va='bottom')
    axes[1].set(xlabel='response time / deadline', ylabel='part of the jobs',
                xlim=(0, 1.05), ylim=(0, 1.01),
                title=f'{total.histogram.sum():,} jobs, {total.misses} late, '
                f'worst {total.worst:.4f}')
    return drawn
