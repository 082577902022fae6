# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan capacity: how many servers of one kind fit a fleet?"""

import argparse
from typing import Any

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import fleet
from nova_rt import reservation
from nova_rt import shares
from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output
from nova_rt.cmd import plan_simulate
from nova_rt.model import checks

# More servers than any host starts, and more than one waits to count.
MAX_FIT = 20_000


def add_parser(commands: Any) -> None:
    """Add the subcommand to argparse's subparsers."""
    parser: argparse.ArgumentParser = commands.add_parser(
        'capacity', allow_abbrev=False,
        help='count the reservations of one kind that fit a fleet',
        description='Count how many reservations of one kind fit a fleet '
        'under each placement policy, beside those that are there already.')
    plan_options.add_fleet(parser, policy=False)
    plan_options.add_reservation(parser)
    parser.add_argument('--existing', metavar='FILE',
                        help='JSON lines, as nova-rt-plan simulate takes '
                        'them, of what is placed before')
    plan_output.add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one row for each placement policy."""
    wanted = reservation.Reservation(
        arguments.runtime_us, arguments.period_us, arguments.vcpus)
    rows = [_row(arguments, wanted, policy)
            for policy in plan_output.track(list(fitting.POLICIES),
                                            'Placing')]
    plan_output.show(rows, arguments.format)
    return 0


def _row(arguments: argparse.Namespace, wanted: reservation.Reservation,
         policy: str) -> dict[str, Any]:
    cloud = fleet.Fleet(plan_options.empty_hosts(arguments), policy)
    refused = 0
    if arguments.existing:
        with open(arguments.existing, 'rb') as lines:
            refused = sum('rejected' in answer
                          for answer in plan_simulate.answers(cloud, lines))
    counted = 0
    used = 0
    known: dict[shares.HostShares, int] = {}
    for host in cloud.hosts.values():
        if host not in known:
            known[host] = fill(host, wanted, policy)
        counted += known[host]
        used += host.rt_share_used + known[host] * wanted.share
    capacity = sum(host.rt_share for host in cloud.hosts.values())
    return {'policy': policy, 'fit': counted,
            'existing': len(cloud.placements), 'existing_rejected': refused,
            'rt_share': bandwidth.cpus(capacity),
            'rt_share_used': bandwidth.cpus(used),
            'used': bandwidth.percent(
                used * bandwidth.BW_UNIT // max(1, capacity))}


def fill(host: shares.HostShares, wanted: reservation.Reservation,
         policy: str) -> int:
    """Return how many of a reservation fit a host, one after the other.

    What fits a fleet is the sum over its hosts, whatever their order.

    :raises checks.ModelError: if more than 20,000 might fit the host
    """
    if sum(max(0, left) for left in host.left) // wanted.share > MAX_FIT:
        raise checks.ModelError(
            f'More than {MAX_FIT} of this reservation might fit one host, '
            'which no host starts: give a larger one, or fewer pCPUs.')
    count = 0
    while True:
        try:
            pcpus = fitting.place(host, wanted, policy)
        except fitting.NoRoomError:
            return count
        host = host.add(wanted, pcpus)
        count += 1
