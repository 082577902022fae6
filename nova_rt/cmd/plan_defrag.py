# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan defrag: which moves on a host let a reservation in, or balance it?"""

import argparse

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import fleet
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.cmd import plan_command
from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output
from nova_rt.cmd import plan_simulate
from nova_rt.defrag import planner
from nova_rt.defrag.goal import Goal
from nova_rt.defrag.plan import Plan

Holdings = dict[str, ledger.Holding]


class ExistingError(errors.NovaRTError):
    """What is said to be on the host does not fit it; the message is a sentence."""


class Defrag(plan_command.Command):
    """Plan moves between the pCPUs of a host that make room.

    Finds the fewest that let a reservation in, or without one those that leave the
    fullest pCPU the most. Each move claims its new pCPU before it releases the old one.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the host, what is on it, and the reservation."""
        parser = super().get_parser(prog_name)
        plan_options.add_host(parser)
        parser.add_argument(
            '--existing', metavar='FILE', required=True,
            help='JSON lines, as nova-rt-plan simulate takes them, of what is placed before')
        plan_options.add_reservation(parser, required=False)
        parser.add_argument(
            '--max-moves', type=plan_options.count(plan_options.MAX_MOVES),
            default=planner.AT_DESK, metavar='N',
            help=f'how many moves at most (default: {planner.AT_DESK})')
        parser.add_argument(
            '--seconds', type=plan_options.count(plan_options.MAX_SECONDS), default=10,
            metavar='S', help='how long to look for fewer moves (default: 10)')
        plan_output.add_format(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print the plan: its moves, and the pCPUs before and after.

        :raises NoPlanError: if there is none, or none was found
        :raises ExistingError: if what is to be there does not fit
        """
        wanted = _wanted(parsed_args)
        host, holdings = _existing(parsed_args)
        if wanted is not None:
            plan = planner.fewest(host, holdings, Goal.room_for(wanted),
                                  parsed_args.seconds, parsed_args.max_moves)
        else:
            plan = planner.balance(host, holdings, parsed_args.max_moves)
        plan_output.show([_row(plan, parsed_args.seconds)], parsed_args.format)


def _wanted(options: argparse.Namespace) -> reservation.Reservation | None:
    """Return the reservation that is asked for, if any.

    :raises InvalidReservationError: if only one of runtime and period is given, or they
        are invalid
    """
    if options.runtime_us is None and options.period_us is None:
        return None
    if options.runtime_us is None or options.period_us is None:
        raise reservation.InvalidReservationError(
            'Give both --runtime-us and --period-us, or neither to balance the host.')
    return reservation.Reservation(options.runtime_us, options.period_us, options.vcpus)


def _existing(options: argparse.Namespace) -> tuple[shares.HostShares, Holdings]:
    cloud = fleet.Fleet(plan_options.empty_hosts(options), options.policy)
    with open(options.existing, 'rb') as lines:
        for answer in plan_simulate.answers(cloud, lines):
            if 'rejected' in answer:
                raise ExistingError(f'{options.existing}: {answer["rejected"]}')
    (host,) = cloud.hosts.values()
    return host, {name: ledger.Holding(placed.wanted, placed.pcpus)
                  for name, placed in cloud.placements.items()}


def _row(plan: Plan, seconds: float) -> plan_output.Row:
    before, after = plan.before, plan.after
    return {
        'moves': len(plan.moves),
        'bandwidth': bandwidth.percent(plan.bandwidth),
        'proof': planner.proof(plan, seconds),
        'steps': [{'server': move.server, 'from': move.source, 'to': move.target,
                   'bandwidth': bandwidth.percent(move.bandwidth)} for move in plan.moves],
        'pcpus': [{'pcpu': pcpu, 'left_before': bandwidth.percent(before.left[pcpu]),
                   'left_after': bandwidth.percent(after.left[pcpu])}
                  for pcpu in before.usable]}
