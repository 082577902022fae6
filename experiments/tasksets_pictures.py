# SPDX-License-Identifier: Apache-2.0
"""Figure 6 of KubeDeadline, as measured here."""

from typing import Any

import numpy as np

from experiments import output
from experiments import tasksets
from nova_rt.model import campaign
from nova_rt.model.plots import style


def draw(folder: output.Folder, outcome: tasksets.Outcome) -> None:
    """Draw the distributions of normalised response times."""
    with style.look():
        folder.picture('kubedeadline6', _distributions(
            outcome.by_mode, outcome.simulated))


def _distributions(by_mode: dict[str, list[tasksets.Jobs]],
                   total: campaign.Tally) -> Any:
    drawn, axis = style.canvas(1, 1, 8, 4.8)
    bins = np.arange(1, campaign.BINS + 1) / campaign.BINS
    axis.plot(bins, np.cumsum(total.histogram)[:-1] / total.histogram.sum(),
              color=style.colour(2), ls=(0, (4, 2)),
              label=f'exact simulator, all sets: worst {total.worst:.3f}')
    for index, (mode, jobs) in enumerate(by_mode.items()):
        values = np.sort(np.concatenate([job.normalised for job in jobs]))
        missed = sum(job.missed for job in jobs)
        axis.plot(values, np.arange(1, values.size + 1) / values.size,
                  color=style.colour((0, 4, 1)[index]),
                  label=f'{tasksets.MODES[mode]}: worst {values[-1]:.3f}, '
                        f'{missed} missed')
    axis.axvline(1, color=style.INK, lw=1, ls=(0, (4, 3)))
    axis.annotate('deadline', (1, 0.03), xytext=(4, 0),
                  textcoords='offset points')
    axis.set(xlabel='response time / period', ylabel='part of the jobs',
             ylim=(0, 1.01), xlim=(0, 2.5),
             title='Random task sets in their reservations')
    axis.legend(loc='lower right', fontsize=9)
    return drawn
