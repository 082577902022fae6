# SPDX-License-Identifier: Apache-2.0
"""A service in a real reservation, simulated, beside the fluid formula.

The formula takes a reservation for a slower CPU. Here requests are served by
the CBS server itself, by the event loop of the two-level simulator, in ns.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from nova_rt.model import checks
from nova_rt.model import engine
from nova_rt.model import queueing
from nova_rt.model import simulator
from nova_rt.model import tasks as tasks_
from nova_rt.model.jit import jit

Times = npt.NDArray[np.float64]

NS = 1_000_000_000
MAX_REQUESTS = 5_000_000
# A shared pCPU has some events in each period, requests or not.
MAX_PERIODS = 3_000_000
FEWEST = 500


@dataclasses.dataclass(frozen=True)
class Sample:
    """Response times in s, by request, of two systems fed the same.

    :ivar cbs: of the reservation
    :ivar fluid: of a CPU slower by Q/P
    """

    cbs: Times
    fluid: Times


def simulate(service: queueing.Service, runtime_us: int, period_us: int,
             requests: int = 100_000, seed: int = 1,
             shared: bool = True) -> Sample:
    """Serve random requests in a reservation and on a slower CPU.

    :param shared: another reservation, never idle, has the rest of the pCPU;
        otherwise nothing else runs there
    :raises checks.ModelError: if the queue is unstable
    """
    checks.count('The number of requests', requests, MAX_REQUESTS)
    simulator.Server(0, runtime_us, period_us)
    service.slack(runtime_us / period_us)
    source = np.random.default_rng(seed)
    gaps = source.exponential(1 / service.arrival_rate, requests)
    needs = source.exponential(1 / service.processing_rate, requests)
    sent = np.cumsum(gaps)
    arrivals = sent
    if service.network_rate is not None:
        arrivals = departures(sent, source.exponential(
            1 / service.network_rate, requests))
    fluid = departures(arrivals, needs * period_us / runtime_us)
    cbs = served(arrivals, needs, runtime_us, period_us, shared)
    constant = 2 * service.delay_s
    return Sample(cbs - sent + constant, fluid - sent + constant)


def affordable(service: queueing.Service, period_us: int,
               requests: int) -> int:
    """Return how many requests can be simulated in seconds.

    At most as many as given; 0 if these would be too few to tell anything.
    """
    number = min(requests, int(
        MAX_PERIODS * period_us * 1e-6 * service.arrival_rate))
    return number if number >= FEWEST else 0


@jit
def departures(arrivals: Times, needs: Times) -> Times:
    """Return when a queue served in order lets each request go (Lindley)."""
    ends = np.empty_like(arrivals)
    last = 0.0
    for i in range(arrivals.size):
        last = max(last, arrivals[i]) + needs[i]
        ends[i] = last
    return ends


def served(arrivals: Times, needs: Times, runtime_us: int, period_us: int,
           shared: bool) -> Times:
    """Return when a reservation lets each request go.

    :param arrivals: in s, ascending
    :param needs: processing times on a whole pCPU, in s
    :param shared: another reservation, never idle, has the rest of the pCPU
    :raises checks.ModelError: if this takes decades of simulated time
    """
    if (arrivals[-1] + needs.sum() * (period_us / runtime_us + 2)) * NS > (
            engine.NEVER >> 2):
        raise checks.ModelError(
            'The requests take decades to arrive and be served: simulate '
            'fewer.')
    times = np.round(arrivals * NS).astype(np.int64)[np.newaxis, :]
    work = np.maximum(1, np.round(needs * NS)).astype(np.int64)
    server = simulator.Server(0, 1000 * runtime_us, 1000 * period_us)
    rest = 1000 * (period_us - runtime_us)
    load = [simulator.Server(0, rest, 1000 * period_us)] if (
        shared and rest) else []
    # A task that stands for all requests; only its deadline is used, and
    # none is ever looked at.
    task = tasks_.Task(1, 1)
    world = simulator.build(
        [simulator.Group([server], [task], [0])], load, times,
        work[np.newaxis, :], np.array([times.size], dtype=np.int64))
    state = simulator.start(world, [*load, server], 0)
    horizon = int(times[0, -1])
    served = int(work.sum()) * (period_us // runtime_us + 2)
    engine.run(world, state, horizon + served, 1)
    ends: Times = state.finish[0] / NS
    return ends
