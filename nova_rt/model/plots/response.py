# SPDX-License-Identifier: Apache-2.0
"""Response time of a service over the bandwidth that it gets."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nova_rt.model import checks
from nova_rt.model import queueing
from nova_rt.model import sizing
from nova_rt.model.plots import style

LEVELS = (0.9, 0.99)


def draw(service: queueing.Service, target: sizing.Target | None,
         cap: float,
         simulated: Sequence[tuple[float, float, float]] = ()) -> Any:
    """Return a figure with the mean and percentiles over Q/P.

    :param target: drawn with the bandwidth that meets it, if not None
    :param simulated: (Q/P, mean, 99th percentile) of simulations, in s
    """
    drawn, axis = style.canvas()
    border = service.arrival_rate / service.processing_rate
    if border >= cap:
        raise checks.ModelError(f'Unstable: the requests need {border:.4g} '
                                f'of a pCPU, and the cap is {cap:g}.')
    axis.axvspan(0, border, color='#f6e3e1', lw=0)
    axis.text(border / 2, 0.5, 'unstable', color=style.BAD, rotation=90,
              ha='center', va='center', transform=axis.get_xaxis_transform())
    widths = border + (cap - border) * np.linspace(0.01, 1, 300)
    means = [1e3 * queueing.mean(service, width) for width in widths]
    axis.plot(widths, means, color=style.colour(0), label='mean')
    for index, level in enumerate(LEVELS, 1):
        axis.plot(widths, [
            1e3 * queueing.percentile(service, width, level)
            for width in widths], color=style.colour(index),
            label=f'{100 * level:g}th percentile')
    if simulated:
        at, mean, late = np.array(simulated).T
        axis.plot(at, 1e3 * mean, 'o', color=style.colour(0), mec='white')
        axis.plot(at, 1e3 * late, 'o', color=style.colour(2), mec='white',
                  label='simulated reservation')
    axis.set(yscale='log', xlim=(0, cap), xlabel='bandwidth Q/P',
             ylabel='response time (ms)',
             title=f'{service.arrival_rate:g} requests/s of '
             f'{1e3 / service.processing_rate:g} ms')
    if target is not None:
        _mark(axis, service, target, cap)
    axis.legend(loc='upper right')
    return drawn


def _mark(axis: Any, service: queueing.Service, target: sizing.Target,
          cap: float) -> None:
    deadline = 1e3 * target.deadline_s
    axis.axhline(deadline, color=style.INK, lw=1, ls=(0, (4, 3)))
    try:
        width = sizing.least_bandwidth(service, target, cap)
    except checks.ModelError:
        what = 'target, out of reach'
    else:
        axis.plot([width], [deadline], 'D', color=style.INK, ms=7, zorder=5)
        what = f'target: Q/P = {width:.3f}'
    axis.annotate(what, (0.99, deadline), ha='right', xytext=(0, 5),
                  textcoords='offset points',
                  xycoords=axis.get_yaxis_transform())
