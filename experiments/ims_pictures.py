# SPDX-License-Identifier: Apache-2.0
"""Figure 8 of the OpenStack paper, as measured here."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments import ims
from experiments import output
from nova_rt.model.plots import style

NAMES = {'fair': 'fair scheduler', 'hcbs': 'HCBS'}


def draw(folder: output.Folder, cases: Mapping[str, ims.Case]) -> None:
    """Draw the distributions of the round-trip times."""
    with style.look():
        folder.picture('figure8', _figure_8(cases))


def _figure_8(cases: Mapping[str, ims.Case]) -> Any:
    """Draw one colour per scheduler, a dashed line with noise."""
    drawn, axis = style.canvas(1, 1, 8, 4.8)
    for case in cases.values():
        scheduler, what = case.name.split('-')
        times = np.sort(case.times)
        axis.plot(times, np.arange(1, times.size + 1) / times.size,
                  color=style.colour(list(NAMES).index(scheduler)),
                  ls='-' if what == 'quiet' else (0, (4, 2)),
                  label=f'{NAMES[scheduler]}'
                        f'{", noise" if what == "noise" else ""}: '
                        f'99% within {case.p99:.0f} µs')
    axis.axhline(0.99, color=style.INK, lw=1, ls=(0, (1, 2)))
    axis.set(xscale='log', xlabel='round-trip time of the authentication (µs)',
             ylabel='part of the registrations', ylim=(0, 1.01),
             title='Kamailio and MariaDB in a container')
    axis.legend(loc='lower right', fontsize=9)
    return drawn
