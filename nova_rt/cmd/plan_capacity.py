# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan capacity: how many servers of one kind fit a fleet?"""

import argparse

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import fleet
from nova_rt import reservation
from nova_rt import shares
from nova_rt.cmd import plan_command
from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output
from nova_rt.cmd import plan_simulate
from nova_rt.model import checks

# More of several vCPUs are more than anybody waits to place one after the other.
MAX_FIT = 50_000


class Capacity(plan_command.Command):
    """Count the reservations of one kind that fit a fleet.

    Counts them under each placement policy, beside those that are there
    already.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the fleet, the reservation and what is there already."""
        parser = super().get_parser(prog_name)
        plan_options.add_fleet(parser, policy=False)
        plan_options.add_reservation(parser)
        parser.add_argument(
            '--existing', metavar='FILE',
            help='JSON lines, as nova-rt-plan simulate takes them, of what '
            'is placed before')
        plan_output.add_format(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print one row for each placement policy."""
        wanted = reservation.Reservation(
            parsed_args.runtime_us, parsed_args.period_us, parsed_args.vcpus)
        rows = [_row(parsed_args, wanted, policy)
                for policy in plan_output.track(list(fitting.POLICIES),
                                                'Placing')]
        plan_output.show(rows, parsed_args.format)


def _row(options: argparse.Namespace, wanted: reservation.Reservation,
         policy: str) -> plan_output.Row:
    cloud = fleet.Fleet(plan_options.empty_hosts(options), policy)
    rejected = 0
    if options.existing:
        with open(options.existing, 'rb') as lines:
            rejected = sum('rejected' in answer
                           for answer in plan_simulate.answers(cloud, lines))
    fit = 0
    used = 0
    # Most hosts of a fleet are equal, and filling one takes time.
    fits: dict[shares.HostShares, int] = {}
    for host in cloud.hosts.values():
        if host not in fits:
            fits[host] = fill(host, wanted, policy)
        fit += fits[host]
        used += host.rt_share_used + fits[host] * wanted.share
    capacity = sum(host.rt_share for host in cloud.hosts.values())
    return {'policy': policy, 'fit': fit,
            'existing': len(cloud.placements), 'existing_rejected': rejected,
            'rt_share': bandwidth.cpus(capacity),
            'rt_share_used': bandwidth.cpus(used),
            'used': bandwidth.percent(
                used * bandwidth.BW_UNIT // max(1, capacity))}


def fill(host: shares.HostShares, wanted: reservation.Reservation,
         policy: str) -> int:
    """Return how many of a reservation fit a host, one after the other.

    What fits a fleet is the sum over its hosts, whatever their order.

    :raises checks.ModelError: if more than 50,000 of several vCPUs might fit the host
    """
    if wanted.vcpus == 1 and host.occupancy is shares.Occupancy.CHOSEN:
        # Every policy goes on until no pCPU has room.
        return sum(max(0, left) // wanted.bandwidth for left in host.left)
    if sum(max(0, left) for left in host.left) // wanted.share > MAX_FIT:
        raise checks.ModelError(
            f'More than {MAX_FIT} of this reservation might fit one host, '
            'which takes too long to count: give a larger one, or fewer pCPUs.')
    count = 0
    while True:
        try:
            pcpus = fitting.place(host, wanted, policy)
        except fitting.NoRoomError:
            return count
        host = host.add(wanted, pcpus)
        count += 1
