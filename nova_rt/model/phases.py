# SPDX-License-Identifier: Apache-2.0
"""Sums of independent exponential times: hypoexponential distributions."""

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt

from nova_rt.model import checks

_TERMS = 20


def tail(rates: Sequence[float], time: float) -> float:
    """Return the probability that the sum is longer than a time.

    Rates may be equal; nothing is ever subtracted from its like, so that
    small probabilities keep their digits.

    :param rates: of the exponential times, in the inverse unit of the time
    """
    if time <= 0:
        return 1.0
    if len(rates) == 1:
        return math.exp(-rates[0] * time)
    if len(rates) == 2:
        slow, fast = sorted(rates)
        gap = (fast - slow) * time
        # (1 - exp(-gap)) / gap, which is 1 where the rates are equal.
        bent = -math.expm1(-gap) / gap if gap > 0 else 1.0
        return math.exp(-slow * time) * (1 + slow * time * bent)
    return float(_transient(sorted(rates), time)[0].sum())


def _transient(rates: Sequence[float], time: float
               ) -> npt.NDArray[np.float64]:
    """Return exp(G t), G the generator among the phases, all of it >= 0.

    Uniformised over a fraction of the time, where few terms suffice, then
    squared up to the whole of it.
    """
    fastest = max(rates)
    halvings = max(0, math.ceil(math.log2(max(1.0, fastest * time))) + 1)
    step = fastest * time / 2 ** halvings
    jump = np.diag([1 - rate / fastest for rate in rates])
    jump += np.diag([rate / fastest for rate in rates[:-1]], 1)
    term = np.eye(len(rates))
    total = np.eye(len(rates))
    for k in range(1, _TERMS):
        term = term @ jump * (step / k)
        total += term
    total *= math.exp(-step)
    for _ in range(halvings):
        total = total @ total
    return total


def percentile(rates: Sequence[float], level: float) -> float:
    """Return the time that the sum does not exceed with a probability.

    :param level: the probability, strictly between 0 and 1
    """
    checks.probability('The percentile φ', level)
    if len(rates) == 1:
        return -math.log1p(-level) / rates[0]
    wanted = 1 - level
    low, high = 0.0, sum(1 / rate for rate in rates)
    while tail(rates, high) > wanted:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if tail(rates, middle) > wanted:
            low = middle
        else:
            high = middle
    return high
