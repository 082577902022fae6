# SPDX-License-Identifier: Apache-2.0
"""The resource that options describe, or the least that tasks need."""

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
from fractions import Fraction

from nova_rt import wording
from nova_rt.cmd import plan_output
from nova_rt.model import checks
from nova_rt.model import pinned
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_


def from_options(options: argparse.Namespace) -> supply.Resource | None:
    """Return the resource that the options describe, None if none.

    :param options: with runtime_us, budget_us, period_us and vcpus
    :raises checks.ModelError: if they contradict each other
    """
    if options.runtime_us is None and options.budget_us is None:
        return None
    if options.runtime_us is not None and options.budget_us is not None:
        raise checks.ModelError('Give --runtime-us or --budget-us, not both.')
    if options.period_us is None:
        raise checks.ModelError('Give --period-us too.')
    vcpus = 1 if options.vcpus is None else options.vcpus
    budget = options.budget_us
    if budget is None:
        budget = options.runtime_us * vcpus
    return supply.Resource(budget, options.period_us, vcpus)


def least(tasks: Sequence[tasks_.Task], scheduler: str,
          options: argparse.Namespace, cap: Fraction = Fraction(1),
          overhead_us: int = 0) -> synthesis.Synthesis:
    """Return the least resource that the options allow, and its verdict.

    :param scheduler: inside the reservation: fp or edf
    :param options: with period_us and vcpus, each None if any will do
    :param cap: largest bandwidth of a vCPU
    :param overhead_us: what context switches take from each runtime
    :raises checks.ModelError: if none suffices
    """
    periods = _periods(tasks, options)
    if options.vcpus is None:
        return synthesis.synthesise(
            tasks, periods, scheduler, cap=cap, overhead_us=overhead_us, track=_track)
    sufficient = [synthesised for period in _track(periods) if (
        synthesised := synthesis.least_runtime(
            tasks, period, options.vcpus, scheduler, cap, overhead_us))]
    if not sufficient:
        raise checks.ModelError(
            f'No reservation of {wording.counted(options.vcpus, "vCPU")} and '
            f'{float(cap):g} of each suffices: try more vCPUs or a shorter '
            'period.')
    return min(sufficient,
               key=lambda synthesised: synthesised.resource.bandwidth)


def least_pinned(tasks: Sequence[tasks_.Task], scheduler: str, options: argparse.Namespace,
                 cap: Fraction, overhead_us: int) -> pinned.Assignment:
    """Return the least resource for tasks that stay on one vCPU each; see :func:`least`."""
    return pinned.least(tasks, _periods(tasks, options), options.vcpus, scheduler, cap,
                        overhead_us, _track)


def _periods(tasks: Sequence[tasks_.Task], options: argparse.Namespace) -> list[int]:
    """Return the periods that the options allow, and check the number of vCPUs."""
    periods = ([options.period_us] if options.period_us is not None
               else synthesis.periods_for(tasks))
    for period in periods:
        checks.time_us('The period', period)
    if options.vcpus is not None:
        checks.count('The number of vCPUs', options.vcpus, supply.MAX_VCPUS)
    return periods


def _track(periods: Sequence[int]) -> Iterable[int]:
    return plan_output.track(periods, label='Searching periods')


def any_of(tasks: Sequence[tasks_.Task],
           options: argparse.Namespace) -> supply.Resource:
    """Return the resource that is described, else the least under fp."""
    return from_options(options) or least(tasks, 'fp', options).resource
