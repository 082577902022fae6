# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan size: from a service and its target to a reservation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import math
from typing import TYPE_CHECKING

from nova_rt import wording
from nova_rt.cmd import plan_command
from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output
from nova_rt.model import checks

if TYPE_CHECKING:
    from nova_rt import reservation
    from nova_rt.model import interval
    from nova_rt.model import queueing
    from nova_rt.model import sizing

REQUESTS = 50_000
# What the file with the stages of a chain says of each.
_OF_ONE_SERVICE = ('arrival_rate', 'processing_us', 'delay_us',
                   'network_mbps', 'request_bytes', 'name')


class Size(plan_command.Command):
    """Find the reservation that a service needs.

    Prints the smallest with which the service answers in time, and the
    command that creates its flavor. Requests arrive at random (Poisson) and
    need exponential processing times. A simulation of the reservation itself
    is put beside the formula.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the service, its target and what is known of the reservation."""
        parser = super().get_parser(prog_name)
        plan_options.add_service(parser, required=False)
        plan_options.add_target(parser, required=True)
        parser.add_argument('--chain', metavar='FILE',
                            help='YAML or CSV with the stages of a chain of '
                            'services, instead of one service')
        parser.add_argument('--bound', action='store_true',
                            help='be as cautious as the closed bound of the '
                            'percentile instead of exact')
        parser.add_argument('--period-us', type=plan_options.period_us,
                            metavar='US', help='the period; unless given, at '
                            'most a fifth of the processing time, but 1 ms '
                            'or more')
        parser.add_argument('--switch-us', type=plan_options.number,
                            default=2.0, metavar='US', help='cost of a '
                            'context switch, of which each period has two '
                            '(default: 2.0)')
        plan_options.add_cap(parser)
        parser.add_argument('--no-simulation', action='store_true',
                            help='trust the formula')
        parser.add_argument('--requests', type=plan_options.whole, metavar='N',
                            help='how many to simulate; more make the error smaller '
                            f'(default: {REQUESTS}, or what the percentile needs)')
        parser.add_argument('--name',
                            help='of the flavor (default: rt-service)')
        plan_output.add_format(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print the reservation, one row for each service."""
        # Late: "--help" should not wait for NumPy and Numba.
        from nova_rt.model import sizing

        target = sizing.Target(
            checks.positive('The deadline', parsed_args.deadline_us) / 1e6,
            parsed_args.percentile)
        stages = (_split(parsed_args, target) if parsed_args.chain
                  else [_size(parsed_args, target)])
        rows = [_row(parsed_args, target, *stage)
                for stage in plan_output.track(stages, 'Simulating')]
        plan_output.show(rows, parsed_args.format)


def _split(options: argparse.Namespace, target: sizing.Target
           ) -> Sequence[tuple[str, queueing.Service, float]]:
    from nova_rt.model import chain
    from nova_rt.model import taskfile

    if options.bound:
        raise checks.ModelError('Give --chain or --bound, not both: a chain '
                                'is split by the exact percentiles.')
    for option in _OF_ONE_SERVICE:
        if getattr(options, option) is not None:
            raise checks.ModelError(
                f'Give --chain or --{option.replace("_", "-")}, not both: the '
                'file describes every stage.')
    stages = taskfile.read_stages(options.chain)
    bandwidths = chain.split(
        [service for _, service in stages], target, options.cap)
    return [(*stage, bandwidth)
            for stage, bandwidth in zip(stages, bandwidths, strict=True)]


def _size(options: argparse.Namespace, target: sizing.Target
          ) -> tuple[str, queueing.Service, float]:
    from nova_rt.model import sizing
    from nova_rt.model import taskfile

    if options.name == '':
        raise checks.ModelError('The name of the flavor is empty: give '
                                'another, or leave --name out.')
    if options.arrival_rate is None or options.processing_us is None:
        raise checks.ModelError('Give --arrival-rate and --processing-us, or '
                                '--chain.')
    service = taskfile.service(
        options.arrival_rate, options.processing_us, options.delay_us or 0,
        options.network_mbps, options.request_bytes)
    return options.name or 'rt-service', service, sizing.least_bandwidth(
        service, target, options.cap, options.bound)


def _row(options: argparse.Namespace, target: sizing.Target, name: str,
         service: queueing.Service, bandwidth: float) -> plan_output.Row:
    from nova_rt.model import queueing
    from nova_rt.model import sizing

    overhead = 2 * checks.not_negative(
        'The cost of a context switch', options.switch_us)
    period = options.period_us or sizing.period_for(service, overhead)
    wanted = sizing.reserve(bandwidth, period, overhead, options.cap)
    level = target.level or 0.99
    row: plan_output.Row = {
        'name': name, 'bandwidth': bandwidth,
        'runtime_us': wanted.runtime_us, 'period_us': wanted.period_us,
        'vcpus': wanted.vcpus,
        'mean_us': 1e6 * queueing.mean(service, bandwidth),
        'percentile': level,
        'percentile_us': 1e6 * queueing.percentile(service, bandwidth, level),
        'percentile_bound_us': 1e6 * queueing.percentile_bound(
            service, bandwidth, level),
        'simulated_requests': None,
        'simulated_mean_us': None, 'simulated_mean_error_us': None,
        'simulated_percentile_us': None, 'simulated_percentile_error_us': None,
        'simulated_verdict': None,
    }
    if not options.no_simulation:
        # The target is the whole chain's, no stage's.
        row |= _simulate(service, wanted, level,
                         None if options.chain else target, overhead,
                         options.requests)
    row['command'] = plan_output.flavor_command(name, wanted)
    return row


def _simulate(service: queueing.Service, wanted: reservation.Reservation,
              level: float, target: sizing.Target | None,
              overhead_us: float, requests: int | None) -> plan_output.Row:
    import numpy as np

    from nova_rt.model import cbs_queue
    from nova_rt.model import interval
    from nova_rt.model import queueing

    least = (cbs_queue.FEWEST if target is None or target.level is None
             else max(cbs_queue.FEWEST, interval.least_sample(level)))
    if requests is None:
        requests = max(REQUESTS, least)
    if requests < cbs_queue.FEWEST:
        raise checks.ModelError(
            f'--requests is {requests}, which tells nothing: give '
            f'{cbs_queue.FEWEST} or more.')
    usable = max(1, wanted.runtime_us - round(overhead_us))
    affordable = cbs_queue.affordable(
        service, wanted.period_us, cbs_queue.MAX_REQUESTS)
    requests = min(requests, affordable)
    if not affordable:
        return {'simulated_verdict': 'not simulated: requests are too rare '
                'for a period this short'}
    sample = cbs_queue.simulate(service, usable, wanted.period_us, requests)
    bandwidth = usable / wanted.period_us
    mean = interval.estimate(sample, queueing.mean(service, bandwidth), np.mean)
    percentile = interval.estimate(
        sample, queueing.percentile(service, bandwidth, level),
        lambda times: float(np.quantile(times, level)))
    row: plan_output.Row = {
        'simulated_requests': requests,
        'simulated_mean_us': 1e6 * mean.value,
        'simulated_mean_error_us': 1e6 * mean.half_width,
        'simulated_percentile_us': 1e6 * percentile.value,
        'simulated_percentile_error_us': 1e6 * percentile.half_width}
    if requests < least:
        row['simulated_verdict'] = (
            f'not decided: {requests} requests are too few for this percentile; '
            + (f'--requests {least} may decide it' if least <= affordable else
               'no simulation in reasonable time decides it'))
    elif target is not None:
        row['simulated_verdict'] = _verdict(
            mean if target.level is None else percentile, target.deadline_s,
            requests, affordable)
    return row


def _verdict(reached: interval.Interval, deadline_s: float, requests: int,
             affordable: int) -> str:
    """Return whether the target is met, so far as the simulation tells.

    :param affordable: how many requests can be simulated at most
    """
    meets = reached.below(deadline_s)
    if meets:
        return 'meets the target'
    distance = wording.rounded(1e6 * abs(reached.value - deadline_s), 4)
    if meets is False:
        return (f'misses the target by {distance} µs: the period is long against '
                'the processing time, so lower it or ask for a shorter deadline')
    error = wording.rounded(1e6 * reached.half_width, 4)
    # Some more than needed, as the error is itself an estimate.
    needed = 1.5 * reached.requests_to_decide(deadline_s, requests)
    if needed > affordable - 1000:
        return (f'not decided: {distance} µs from the target, with an error of '
                f'{error} µs; no simulation in reasonable time decides it')
    return (f'not decided: {distance} µs from the target, with an error of {error} '
            f'µs; --requests {math.ceil(needed / 1000) * 1000} probably decides it')
