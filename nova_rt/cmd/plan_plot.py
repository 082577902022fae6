# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan plot: pictures, as SVG and PNG."""

import argparse
from typing import Any

from nova_rt import fleet
from nova_rt.cmd import plan_analyse
from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output
from nova_rt.cmd import plan_simulate

PAPER = ('figure6', 'figure7', 'table3', 'region', 'evaluation')
SIMULATED = 8
REQUESTS = 20_000


def add_parser(commands: Any) -> None:
    """Add the subcommand, with one for each kind of picture."""
    parser: argparse.ArgumentParser = commands.add_parser(
        'plot', allow_abbrev=False, help='draw a picture',
        description='Draw a picture, as SVG and as PNG.')
    kinds = parser.add_subparsers(required=True, metavar='KIND')
    _response(kinds)
    for name, sentence, draw in (
            ('bounds', 'supply and demand of a task set', _draw_bounds),
            ('schedule', 'a Gantt chart of a task set', _draw_schedule)):
        kind = _kind(kinds, name, sentence, draw)
        plan_analyse.add_tasks(kind)
        for option in ('runtime', 'budget', 'period'):
            kind.add_argument(f'--{option}-us', type=plan_options.whole,
                              metavar='US')
        kind.add_argument('--vcpus', type=plan_options.whole, metavar='N')
        kind.set_defaults(cap=1, overhead_us=0)
        if name == 'schedule':
            kind.add_argument('--length-us', type=plan_options.whole,
                              metavar='US', help='what to draw (default: '
                              'the longest period)')
            kind.add_argument('--alone', action='store_true', help='no other '
                              'load, instead of the worst that is admitted')
    host = _kind(kinds, 'host', 'the reservations on pCPUs, from JSON lines '
                 'as nova-rt-plan simulate takes them', _draw_host)
    host.add_argument('file', help='JSON lines')
    plan_options.add_fleet(host)
    paper = _kind(kinds, 'paper', 'what the papers show, from the model: '
                  f'{", ".join(PAPER)}', _draw_paper)
    paper.add_argument('what', choices=PAPER)
    paper.add_argument('--sets', type=plan_options.whole, default=150,
                       help='task sets of the evaluation (default: 150)')
    paper.add_argument('--runs', type=plan_options.whole, default=100,
                       help='random runs of each (default: 100)')


def _kind(kinds: Any, name: str, sentence: str,
          draw: Any) -> argparse.ArgumentParser:
    kind: argparse.ArgumentParser = kinds.add_parser(
        name, allow_abbrev=False, help=sentence, description=f'Draw '
        f'{sentence}.')
    kind.add_argument('-o', '--output', default=name, metavar='BASE',
                      help='path without .svg and .png (default: '
                      '%(default)s)')
    kind.set_defaults(run=run, draw=draw)
    return kind


def _response(kinds: Any) -> None:
    kind = _kind(kinds, 'response', 'response times of a service over its '
                 'bandwidth', _draw_response)
    plan_options.add_service(kind, required=True)
    plan_options.add_target(kind, required=False)
    kind.add_argument('--period-us', type=plan_options.period_us,
                      default=1000, help='of the simulated reservations '
                      '(default: %(default)s)')
    kind.add_argument('--cap', type=plan_options.fraction,
                      default=plan_options.DEFAULT_CAP)


def run(arguments: argparse.Namespace) -> int:
    """Draw, and print the paths of the pictures."""
    from nova_rt.model.plots import style
    with style.look():
        paths = style.save(arguments.draw(arguments), arguments.output)
    print(*paths, sep='\n')
    return 0


def _draw_response(arguments: argparse.Namespace) -> Any:
    import numpy as np

    from nova_rt.model import cbs_queue
    from nova_rt.model import sizing
    from nova_rt.model import taskfile
    from nova_rt.model.plots import response
    service = taskfile.service(
        arguments.arrival_rate, arguments.processing_us, arguments.delay_us,
        arguments.network_mbps, arguments.request_bytes)
    target = None if arguments.deadline_us is None else sizing.Target(
        arguments.deadline_us / 1e6, arguments.percentile)
    border = service.arrival_rate / service.processing_rate
    number = cbs_queue.affordable(service, arguments.period_us, REQUESTS)
    seen = []
    for part in plan_output.track(range(1, SIMULATED + 1), 'Simulating'):
        runtime = round(arguments.period_us * (
            border + (arguments.cap - border) * part / SIMULATED))
        if number and border < runtime / arguments.period_us <= 1:
            sample = cbs_queue.simulate(
                service, runtime, arguments.period_us, number)
            seen.append((runtime / arguments.period_us,
                         float(sample.cbs.mean()),
                         float(np.quantile(sample.cbs, 0.99))))
    return response.draw(service, target, arguments.cap, seen)


def _resource(arguments: argparse.Namespace, tasks: Any) -> Any:
    return plan_analyse.resource(arguments) or plan_analyse.least(
        tasks, 'fp', arguments)[0]


def _draw_bounds(arguments: argparse.Namespace) -> Any:
    from nova_rt.model import taskfile
    from nova_rt.model.plots import bounds
    tasks = taskfile.read_tasks(arguments.file)
    return bounds.draw(tasks, _resource(arguments, tasks))


def _draw_schedule(arguments: argparse.Namespace) -> Any:
    from nova_rt.model import campaign
    from nova_rt.model import simulator
    from nova_rt.model import taskfile
    from nova_rt.model import tasks as tasks_
    from nova_rt.model.plots import gantt
    tasks = taskfile.read_tasks(arguments.file)
    resource = _resource(arguments, tasks)
    servers, load = campaign.late_supply(resource)
    if arguments.alone:
        load = []
        servers = [simulator.Server(
            s.pcpu, s.runtime_us, s.period_us) for s in servers]
    length = arguments.length_us or max(task.period_us for task in tasks)
    outcome = simulator.simulate(
        [simulator.Group(servers, tasks, tasks_.deadline_monotonic(tasks))],
        length, load, trace=True)
    return gantt.draw(outcome, tasks, len(load), (
        f'{len(tasks)} tasks in {resource.runtime_us / 1000:g} ms every '
        f'{resource.period_us / 1000:g} ms on {resource.vcpus} vCPUs'))


def _draw_host(arguments: argparse.Namespace) -> Any:
    from nova_rt.model.plots import hosts
    cloud = fleet.Fleet(
        plan_options.empty_hosts(arguments), arguments.policy)
    with open(arguments.file, 'rb') as lines:
        for _ in plan_simulate.answers(cloud, lines):
            pass
    return hosts.draw(cloud.hosts, cloud.placements, arguments.policy)


def _draw_paper(arguments: argparse.Namespace) -> Any:
    from nova_rt.model import region
    from nova_rt.model.plots import maps
    from nova_rt.model.plots import paper
    if arguments.what == 'figure6':
        return paper.figure_6(plan_output.track)
    if arguments.what == 'figure7':
        return paper.figure_7()
    if arguments.what == 'table3':
        return paper.table_3(plan_output.track)
    if arguments.what == 'evaluation':
        return _evaluation(arguments)
    places = [(period, load, bandwidth, shared)
              for shared in (True, False) for bandwidth in region.BANDWIDTHS
              for load in region.LOADS for period in region.PERIODS]
    return maps.fluid([region.measure(*place, requests=20_000)
                       for place in plan_output.track(places, 'Mapping')])


def _evaluation(arguments: argparse.Namespace) -> Any:
    from nova_rt.model import campaign
    from nova_rt.model import checks
    from nova_rt.model import generate
    from nova_rt.model import synthesis
    from nova_rt.model import tasks as tasks_
    from nova_rt.model.plots import maps
    checks.count('The number of sets', arguments.sets, 10_000)
    checks.count('The number of runs', arguments.runs, 1_000_000)
    shares, tallies = [], []
    sets = list(generate.evaluation_sets(arguments.sets))
    for seed, tasks in enumerate(plan_output.track(sets, 'Simulating')):
        found = synthesis.synthesise(tasks, [10_000]).resource
        shares.append((tasks_.utilisation(tasks), found.bandwidth,
                       len(tasks)))
        tallies.append(campaign.worst_case(tasks, found)
                       + campaign.random_cases(
                           tasks, found, arguments.runs, seed))
    return maps.evaluation(shares, sum(tallies[1:], tallies[0]))
