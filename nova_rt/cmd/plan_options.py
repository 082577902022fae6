# SPDX-License-Identifier: Apache-2.0
"""Options that several commands of nova-rt-plan share."""

import argparse
from collections.abc import Callable
import fractions
import math

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares
from nova_rt import wording

DEFAULT_CAP = 0.95
# NR_CPUS of distribution kernels, and more hosts than one region has.
MAX_PCPUS = 8192
MAX_HOSTS = 10_000
# More than anybody wants to make, and an hour.
MAX_MOVES = 1_000
MAX_SECONDS = 3_600


def add_fleet(parser: argparse.ArgumentParser, policy: bool = True) -> None:
    """Add the options that describe a fleet of equal hosts."""
    add_host(parser, policy)
    parser.add_argument(
        '--hosts', type=count(MAX_HOSTS), default=1, metavar='N',
        help='number of hosts (default: 1)')


def add_host(parser: argparse.ArgumentParser, policy: bool = True) -> None:
    """Add the options that describe one host."""
    parser.add_argument(
        '--pcpus', type=count(MAX_PCPUS), required=True, metavar='N',
        help='pCPUs of each host')
    add_cap(parser)
    if policy:
        parser.add_argument(
            '--policy', choices=sorted(fitting.POLICIES),
            default=fitting.DEFAULT,
            help=f'placement policy (default: {fitting.DEFAULT})')


def add_cap(parser: argparse.ArgumentParser) -> None:
    """Add the cap."""
    parser.add_argument(
        '--cap', type=fraction, default=DEFAULT_CAP, metavar='FRACTION',
        help=f'largest bandwidth admitted per pCPU (default: {DEFAULT_CAP})')


def add_reservation(parser: argparse.ArgumentParser, required: bool = True) -> None:
    """Add the options that describe a reservation."""
    parser.add_argument('--runtime-us', type=whole, required=required,
                        metavar='US', help='runtime Q of each vCPU')
    parser.add_argument('--period-us', type=whole, required=required,
                        metavar='US', help='period P')
    parser.add_argument('--vcpus', type=whole, default=1, metavar='N',
                        help='number of vCPUs (default: 1)')


def add_tasks(parser: argparse.ArgumentParser) -> None:
    """Add the file with tasks."""
    parser.add_argument(
        'file', help='YAML or CSV with wcet, period and optionally deadline '
        'and name of each task; in µs, or wcet_ms and so on')


def add_resource(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe what a task set runs in."""
    parser.add_argument('--runtime-us', type=whole, metavar='US',
                        help='Q, the runtime of each vCPU')
    parser.add_argument('--budget-us', type=whole, metavar='US',
                        help='Θ, the runtime of all vCPUs together')
    parser.add_argument('--period-us', type=whole, metavar='US',
                        help='the period; round ones are tried unless given')
    parser.add_argument('--vcpus', type=whole, metavar='N',
                        help='number of vCPUs; tried unless given')


def add_service(parser: argparse.ArgumentParser, required: bool) -> None:
    """Add the options that describe a service and the network before it."""
    for name, metavar, sentence in (
            ('arrival-rate', 'PER_S', 'requests per second'),
            ('processing-us', 'US',
             'mean processing time on a whole pCPU')):
        parser.add_argument(f'--{name}', type=number, metavar=metavar,
                            required=required, help=sentence)
    parser.add_argument('--delay-us', type=number, metavar='US',
                        help='one-way network delay (default: 0)')
    parser.add_argument('--network-mbps', type=number, metavar='MBPS',
                        help='network bandwidth, if it matters')
    parser.add_argument('--request-bytes', type=number, metavar='BYTES',
                        help='mean request size, if it matters')


def add_target(parser: argparse.ArgumentParser, required: bool) -> None:
    """Add the options that describe what the response must not exceed."""
    parser.add_argument('--deadline-us', type=number, required=required,
                        metavar='US', help='the target, end to end')
    parser.add_argument('--percentile', type=number, metavar='P',
                        help='the part of the requests that must meet the '
                        'target, such as 0.99; without it, their mean must')


def empty_hosts(
        options: argparse.Namespace) -> dict[str, shares.HostShares]:
    """Return the hosts that the options describe: host0, host1, ..."""
    most = bandwidth.fraction_to_bandwidth(options.cap)
    host = shares.HostShares.empty([most] * options.pcpus)
    return {f'host{i}': host for i in range(getattr(options, 'hosts', 1))}


def count(most: int) -> Callable[[str], int]:
    """Return what parses a whole number from 1 to a limit."""
    def parse(text: str) -> int:
        if (text.isascii() and text.isdigit() and len(text) < 20
                and 1 <= int(text) <= most):
            return int(text)
        raise argparse.ArgumentTypeError(
            f'{wording.shown(text, 40)} is not a whole number from 1 to {most}')
    return parse


def whole(text: str) -> int:
    """Parse a whole number; the caller checks its range."""
    digits = text.removeprefix('-')
    if digits.isascii() and digits.isdigit() and len(digits) < 20:
        return int(text)
    raise argparse.ArgumentTypeError(
        f'{wording.shown(text, 40)} is not a whole number')


def number(text: str) -> float:
    """Parse a number; the caller checks its range."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{wording.shown(text, 40)} is not a number') from None


def period_us(text: str) -> int:
    """Parse a period that the kernel takes, in µs."""
    period = whole(text)
    try:
        reservation.check_period('the period', period)
    except reservation.InvalidReservationError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from None
    return period


def exact_fraction(text: str) -> fractions.Fraction:
    """Parse a fraction of a CPU by its decimal text."""
    fraction(text)
    return fractions.Fraction(text)


def fraction(text: str) -> float:
    """Parse a fraction of a CPU, above 0 and up to 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if 0 < value <= 1:
        return value
    raise argparse.ArgumentTypeError(
        f'{wording.shown(text, 40)} is not a fraction of a CPU: give a number '
        'above 0 and up to 1, such as 0.95')
