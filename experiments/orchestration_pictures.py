# SPDX-License-Identifier: Apache-2.0
"""RT-Kube's Table III as bars: refused, and missed deadlines."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments import orchestration
from experiments import output
from experiments import rtkube
from nova_rt.model.plots import style


def draw(folder: output.Folder, table: Sequence[Sequence[object]]) -> None:
    """Draw one axis per deployment and number."""
    with style.look():
        folder.picture('rtkube-table3', _bars([
            dict(zip(orchestration.HEADER, row, strict=True))
            for row in table]))


def _bars(table: list[dict[str, Any]]) -> Any:
    drawn, axes = style.canvas(2, 2, 11, 6.4, sharex='col')
    for line, name in zip(axes, rtkube.DEPLOYMENTS, strict=True):
        for axis, key, paper, unit in zip(
                line, ('refused', 'missed_all_percent'),
                ('paper_kubernetes_refused', 'paper_missed_all_percent'),
                ('containers that the kernel refused',
                 'deadlines missed, refused included (%)'), strict=True):
            _one(axis, [row for row in table if row['deployment'] == name],
                 key, paper)
            axis.set(title=f'{name} deployment', xlabel=unit)
    drawn.legend(*axes[0][0].get_legend_handles_labels(), ncols=3,
                 loc='outside lower center')
    return drawn


def _one(axis: Any, table: list[dict[str, Any]], key: str,
         paper: str) -> None:
    places = np.arange(len(rtkube.TASKS))
    clouds = list(orchestration.CLOUDS.values())
    series = [('Kubernetes, in the paper', 4, [
        row[paper] for row in table if row['cloud'] == clouds[0]])]
    series += [(cloud, index, [row[key] for row in table
                               if row['cloud'] == cloud])
               for cloud, index in zip(clouds, (1, 0), strict=True)]
    for shift, (label, index, values) in zip(
            (-0.27, 0.0, 0.27), series, strict=True):
        bars = axis.barh(places + shift, values, 0.25, label=label,
                         color=style.colour(index))
        axis.bar_label(bars, [f'{value:g}' if isinstance(value, int)
                              else f'{value:.1f}' for value in values],
                       padding=3, fontsize=8.5)
    axis.set(yticks=places, yticklabels=list(rtkube.TASKS))
    axis.invert_yaxis()
    axis.grid(axis='y', visible=False)
    axis.margins(x=0.15)
