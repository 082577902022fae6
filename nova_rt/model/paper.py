# SPDX-License-Identifier: Apache-2.0
"""The experiments of the OpenStack paper, section 6, in the model.

Its measured points need its machines; here the reservation is simulated
instead, with as many requests as the paper measured.
"""

import dataclasses

import numpy as np

from nova_rt.model import cbs_queue
from nova_rt.model import queueing

PERIOD_US = 2000
DELAY_S = 363e-6 / 2
REQUESTS = 10_000
LEVEL = 0.99
GIGABIT = 1e9


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """One row of Table 3, with the errors that the paper measured.

    :ivar size_bytes: z^S
    :ivar load: LD = λ / µ
    :ivar bandwidth: Q/P
    :ivar measured: RMSE in µs and MAPE in % of the mean, then of the
        99th percentile
    """

    size_bytes: int
    load: float
    bandwidth: float
    measured: tuple[float, float, float, float]


TABLE_3 = (
    Setting(128, 0.5, 0.8, (171.53, 5.41, 2195, 8.79)),
    Setting(128, 0.7, 0.9, (515.24, 5.02, 3477.3, 9.57)),
    Setting(128, 0.8, 0.9, (2995.3, 10.37, 18875, 15.71)),
    Setting(2048, 0.5, 0.8, (198.6, 8.01, 1363.7, 6.75)),
    Setting(2048, 0.7, 0.9, (657.88, 5.57, 6938.3, 15.93)),
    Setting(2048, 0.8, 0.9, (2251.2, 13.01, 14528, 21.26)),
)


def service(inter_arrival_us: float, load: float,
            network_bits_per_s: float | None = None,
            size_bytes: float = 2048) -> queueing.Service:
    """Return the service of one point.

    The load is constant, so processing gets longer as requests get rarer.

    :raises checks.ModelError: if the network is unstable
    """
    rate = 1e6 / inter_arrival_us
    transmits = (None if network_bits_per_s is None else
                 queueing.transmission_rate(network_bits_per_s, size_bytes))
    return queueing.Service(rate, rate / load, DELAY_S, transmits)


def simulate(point: queueing.Service, bandwidth: float, seed: int
             ) -> tuple[float, float]:
    """Return mean and 99th percentile in s of a simulated reservation."""
    sample = cbs_queue.simulate(
        point, round(PERIOD_US * bandwidth), PERIOD_US, REQUESTS, seed)
    return float(sample.cbs.mean()), float(np.quantile(sample.cbs, LEVEL))


def row_errors(setting: Setting, inter_arrivals_us: list[float]
               ) -> tuple[float, float, float, float]:
    """Return a row of Table 3: RMSE in µs and MAPE in %.

    They are the errors of the model against the simulated reservation, over
    the inter-arrival times; the mean's first, then the 99th percentile's.
    """
    network = None if setting.size_bytes < 1000 else GIGABIT
    theory, simulated = [], []
    for seed, gap in enumerate(inter_arrivals_us):
        point = service(gap, setting.load, network, setting.size_bytes)
        theory.append((
            queueing.mean(point, setting.bandwidth),
            queueing.percentile_bound(point, setting.bandwidth, LEVEL)))
        simulated.append(simulate(point, setting.bandwidth, seed))
    predicted, measured = 1e6 * np.array(theory), 1e6 * np.array(simulated)
    rmse = np.sqrt(((predicted - measured) ** 2).mean(axis=0))
    mape = 100 * np.abs(predicted / measured - 1).mean(axis=0)
    return float(rmse[0]), float(mape[0]), float(rmse[1]), float(mape[1])
