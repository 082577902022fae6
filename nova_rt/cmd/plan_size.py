# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan size: from a service and its target to a reservation."""

import argparse
from typing import Any

from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output

REQUESTS = 50_000


def add_parser(commands: Any) -> None:
    """Add the subcommand to argparse's subparsers."""
    parser: argparse.ArgumentParser = commands.add_parser(
        'size', allow_abbrev=False,
        help='find the reservation that a service needs',
        description='Find the smallest reservation with which a service '
        'answers in time, and print the command that creates its flavor. '
        'Requests arrive at random (Poisson) and need exponential processing '
        'times; a simulation of the reservation itself is put beside the '
        'formula.')
    plan_options.add_service(parser, required=False)
    plan_options.add_target(parser, required=True)
    parser.add_argument('--chain', metavar='FILE',
                        help='YAML or CSV with the stages of a chain of '
                        'services, instead of one service')
    parser.add_argument('--bound', action='store_true',
                        help='be as cautious as the closed bound of the '
                        'percentile instead of exact')
    parser.add_argument('--period-us', type=plan_options.period_us,
                        metavar='US', help='the period; a fifth of the '
                        'processing time or less, but 1 ms, unless given')
    parser.add_argument('--switch-us', type=plan_options.number, default=2.0,
                        metavar='US', help='cost of a context switch, of '
                        'which each period has two (default: %(default)s)')
    parser.add_argument('--cap', type=plan_options.fraction,
                        default=plan_options.DEFAULT_CAP, metavar='FRACTION',
                        help='largest bandwidth admitted per pCPU (default: '
                        '%(default)s)')
    parser.add_argument('--no-simulation', action='store_true',
                        help='trust the formula')
    parser.add_argument('--name', default='rt-service',
                        help='of the flavor (default: %(default)s)')
    plan_output.add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the reservation, one row for each service."""
    from nova_rt.model import chain
    from nova_rt.model import checks
    from nova_rt.model import sizing
    from nova_rt.model import taskfile
    target = sizing.Target(
        checks.positive('The deadline', arguments.deadline_us) / 1e6,
        arguments.percentile)
    if arguments.chain and arguments.bound:
        raise checks.ModelError('Give --chain or --bound, not both: a chain '
                                'is split by the exact percentiles.')
    if arguments.chain:
        named = taskfile.read_stages(arguments.chain)
        split = chain.split([service for _, service in named], target,
                            arguments.cap)
        bandwidths = split.bandwidths
    else:
        if arguments.arrival_rate is None or arguments.processing_us is None:
            raise checks.ModelError('Give --arrival-rate and '
                                    '--processing-us, or --chain.')
        named = [(arguments.name, taskfile.service(
            arguments.arrival_rate, arguments.processing_us,
            arguments.delay_us, arguments.network_mbps,
            arguments.request_bytes))]
        bandwidths = (sizing.least_bandwidth(
            named[0][1], target, arguments.cap, arguments.bound),)
    rows = [_row(arguments, target, name, service, bandwidth)
            for (name, service), bandwidth in plan_output.track(
                list(zip(named, bandwidths, strict=True)), 'Simulating')]
    plan_output.show(rows, arguments.format)
    return 0


def _row(arguments: argparse.Namespace, target: Any, name: str,
         service: Any, bandwidth: float) -> dict[str, Any]:
    from nova_rt.model import queueing
    from nova_rt.model import sizing
    overhead = 2 * arguments.switch_us
    period = arguments.period_us or sizing.period_for(service, overhead)
    wanted = sizing.reserve(bandwidth, period, overhead, arguments.cap)
    level = target.level or 0.99
    row = {
        'name': name, 'bandwidth': bandwidth,
        'runtime_us': wanted.runtime_us, 'period_us': wanted.period_us,
        'vcpus': wanted.vcpus,
        'mean_us': 1e6 * queueing.mean(service, bandwidth),
        f'p{100 * level:g}_us': 1e6 * queueing.percentile(
            service, bandwidth, level),
        f'p{100 * level:g}_bound_us': 1e6 * queueing.percentile_bound(
            service, bandwidth, level),
    }
    if not arguments.no_simulation:
        row.update(_simulated(
            service, wanted, level,
            None if arguments.chain else target, overhead))
    row['command'] = plan_output.flavor_command(name, wanted)
    return row


def _simulated(service: Any, wanted: Any, level: float, target: Any,
               overhead_us: float) -> dict[str, Any]:
    import numpy as np

    from nova_rt.model import cbs_queue
    usable = max(1, wanted.runtime_us - round(overhead_us))
    number = cbs_queue.affordable(service, wanted.period_us, REQUESTS)
    if not number:
        return {'simulated_verdict': 'not simulated: requests are too rare '
                'for a period this short'}
    sample = cbs_queue.simulate(service, usable, wanted.period_us, number)
    mean = float(sample.cbs.mean())
    percentile = float(np.quantile(sample.cbs, level))
    row: dict[str, Any] = {
        'simulated_mean_us': 1e6 * mean,
        f'simulated_p{100 * level:g}_us': 1e6 * percentile}
    if target is not None:
        reached = mean if target.level is None else percentile
        # A sample of this size wavers by some percent.
        row['simulated_verdict'] = (
            'meets the target' if reached <= 1.05 * target.deadline_s else
            f'misses the target by {1e6 * (reached - target.deadline_s):.4g} '
            'us: the period is long against the processing time, so lower '
            'it or ask for a shorter deadline')
    return row
