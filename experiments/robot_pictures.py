# SPDX-License-Identifier: Apache-2.0
"""The missed deadlines of the robot's driver over time, as in RT-Kube's Figure 9(b)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments import output
from experiments import robot
from nova_rt.model.plots import style

LABELS = {'none': 'nothing is done'}


def draw(folder: output.Folder,
         found: Mapping[tuple[str, str], robot.Outcome]) -> None:
    """Draw those whose reservation is too small."""
    chosen = {choice: outcome for (reservation, choice), outcome in found.items()
              if reservation == 'too small'}
    if chosen:
        with style.look():
            folder.picture('rtkube-figure9', _over_time(chosen))


def _over_time(found: Mapping[str, robot.Outcome]) -> Any:
    drawn, axis = style.canvas(1, 1, 10, 4.2)
    for number, (choice, outcome) in enumerate(found.items()):
        times = np.append(outcome.late, outcome.until) / 1000
        counts = np.append(np.arange(1, len(outcome.late) + 1), len(outcome.late))
        axis.step(times, counts, where='post', color=style.colour(number),
                  label=LABELS.get(choice, f'evict_choice = {choice}'))
        stops = outcome.stopped / 1000
        axis.plot(stops, np.searchsorted(outcome.late / 1000, stops), ls='', marker='v',
                  color=style.colour(number))
    axis.set(xlabel='time (s)', ylabel='deadlines missed until then')
    axis.legend(loc='best', fontsize=9, title='triangles: a server has been stopped')
    return drawn
