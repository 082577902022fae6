# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan plot paper: what the papers show, from the model."""

import argparse
from typing import Any

from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output
from nova_rt.cmd import plan_plot

PICTURES = ('figure6', 'figure7', 'table3', 'region', 'evaluation')
REQUESTS = 20_000


class Paper(plan_plot.Picture):
    """Draw what the papers show, from the model."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the name of the picture, and how much is simulated for it."""
        parser = super().get_parser(prog_name)
        parser.add_argument('what', choices=PICTURES)
        parser.add_argument(
            '--sets', type=plan_options.whole, default=150,
            help='task sets of the evaluation (default: 150)')
        parser.add_argument(
            '--runs', type=plan_options.whole, default=100,
            help='random runs of each (default: 100)')
        return parser

    def draw(self, parsed_args: argparse.Namespace) -> Any:
        """Return the picture of that name."""
        from nova_rt.model.plots import paper

        match parsed_args.what:
            case 'figure6':
                return paper.figure_6(plan_output.track)
            case 'figure7':
                return paper.figure_7()
            case 'table3':
                return paper.table_3(plan_output.track)
            case 'region':
                return _region()
            case _:
                return _evaluation(parsed_args.sets, parsed_args.runs)


def _region() -> Any:
    from nova_rt.model import region
    from nova_rt.model.plots import maps

    places = [(period, load, bandwidth, shared)
              for shared in (True, False) for bandwidth in region.BANDWIDTHS
              for load in region.LOADS for period in region.PERIODS]
    return maps.fluid([region.measure(*place, requests=REQUESTS)
                       for place in plan_output.track(places, 'Mapping')])


def _evaluation(number: int, runs: int) -> Any:
    from nova_rt.model import campaign
    from nova_rt.model import checks
    from nova_rt.model import generate
    from nova_rt.model import synthesis
    from nova_rt.model import tasks as tasks_
    from nova_rt.model.plots import maps

    checks.count('The number of sets', number, 10_000)
    checks.count('The number of runs', runs, 1_000_000)
    shares, tallies = [], []
    sets = list(generate.evaluation_sets(number))
    for seed, tasks in enumerate(plan_output.track(sets, 'Simulating')):
        resource = synthesis.synthesise(tasks, [10_000]).resource
        shares.append((tasks_.utilisation(tasks), resource.bandwidth,
                       len(tasks)))
        tallies.append(
            campaign.worst_case(tasks, resource)
            + campaign.random_cases(tasks, resource, runs, seed))
    return maps.evaluation(shares, sum(tallies[1:], tallies[0]))
