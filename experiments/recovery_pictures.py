# SPDX-License-Identifier: Apache-2.0
"""How long a missed deadline goes without its remedy, beside RT-Kube's Table VII."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from experiments import output
from experiments import recovery
from nova_rt.model.plots import style


def draw(folder: output.Folder,
         found: Mapping[str, Sequence[recovery.Recovery]]) -> None:
    """Draw each sample, and what the paper needs."""
    with style.look():
        folder.picture('rtkube-recovery', _points(found))


def _points(found: Mapping[str, Sequence[recovery.Recovery]]) -> Any:
    drawn, axis = style.canvas(1, 1, 10, 4.2)
    scatter(axis, found, {'shrink': 'less critical one shrunk',
                          'remedy': 'more lent to the critical one'},
            {name: case.what for name, case in recovery.CASES.items()})
    axis.axvline(recovery.GOAL_MS, color=style.INK, lw=1, ls=':', label='5 ms')
    axis.legend(loc='lower right', fontsize=9)
    return drawn


def scatter(axis: Any, found: Mapping[str, Sequence[object]], fields: Mapping[str, str],
            titles: Mapping[str, str]) -> None:
    """Draw the times of all samples, a line for each kind, and the paper's.

    :param fields: what to draw of a sample, the later one last, and its label
    :param titles: of the kinds
    """
    for place, each in enumerate(found.values()):
        for (name, label), mark, index in zip(fields.items(), 'vo', (1, 0), strict=True):
            axis.plot([getattr(one, name) for one in each],
                      [place + (number / len(each) - 0.5) * 0.5 for number in range(len(each))],
                      ls='', marker=mark, ms=4, color=style.colour(index),
                      label=None if place else label)
    for value, line, label in ((recovery.PAPER_MEAN, '-', 'RT-Kube, mean'),
                               (recovery.PAPER_WORST, '--', 'RT-Kube, worst')):
        axis.axvline(value, color=style.INK, lw=1, ls=line, label=label)
    axis.set(xscale='log', xlabel='time since the missed deadline (ms)',
             yticks=range(len(found)), yticklabels=[titles[name] for name in found])
    axis.invert_yaxis()
    axis.legend(loc='lower right', fontsize=9)
