# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan analyse: does a task set meet its deadlines?"""

import argparse
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output


def add_parser(commands: Any) -> None:
    """Add the subcommand to argparse's subparsers."""
    parser: argparse.ArgumentParser = commands.add_parser(
        'analyse', allow_abbrev=False,
        help='test a task set, or find the reservation that it needs',
        description='Test whether the tasks in a YAML or CSV file meet their '
        'deadlines in a reservation, given by its runtime or its budget, or '
        'find the least that they need. Fixed priorities are deadline '
        'monotonic.')
    add_tasks(parser)
    parser.add_argument('--runtime-us', type=plan_options.whole, metavar='US',
                        help='Q, the runtime of each vCPU')
    parser.add_argument('--budget-us', type=plan_options.whole, metavar='US',
                        help='Θ, the runtime of all vCPUs together')
    parser.add_argument('--period-us', type=plan_options.whole, metavar='US',
                        help='the period; round ones are tried unless given')
    parser.add_argument('--vcpus', type=plan_options.whole, metavar='N',
                        help='number of vCPUs; tried unless given')
    parser.add_argument('--overhead-us', type=plan_options.whole, default=0,
                        metavar='US', help='what context switches take from '
                        'each runtime (default: 0)')
    parser.add_argument('--cap', type=plan_options.exact_fraction,
                        default=Fraction(str(plan_options.DEFAULT_CAP)),
                        metavar='FRACTION', help='largest bandwidth of a '
                        'vCPU that is found (default: 0.95)')
    parser.add_argument('--scheduler', choices=('fp', 'edf', 'both'),
                        default='both', help='inside the reservation; the '
                        'kernel has fp (default: %(default)s)')
    plan_output.add_format(parser)
    parser.set_defaults(run=run)


def add_tasks(parser: argparse.ArgumentParser) -> None:
    """Add the file with tasks."""
    parser.add_argument(
        'file', help='YAML or CSV with wcet, period and optionally deadline '
        'and name of each task; in µs, or wcet_ms and so on')


def run(arguments: argparse.Namespace) -> int:
    """Print one row for each local scheduler."""
    from nova_rt.model import checks
    from nova_rt.model import taskfile
    tasks = taskfile.read_tasks(arguments.file)
    names = (('fp', 'edf') if arguments.scheduler == 'both'
             else (arguments.scheduler,))
    given = resource(arguments)
    rows = []
    for name in plan_output.track(names, 'Analysing'):
        try:
            rows.append(_row(tasks, name, given, arguments))
        except checks.ModelError as error:
            if len(names) == 1:
                raise
            rows.append(_empty(name) | {'reason': str(error)})
    plan_output.show(rows, arguments.format)
    return 0


def resource(arguments: argparse.Namespace) -> Any:
    """Return the resource that the options describe, None if none."""
    from nova_rt.model import checks
    from nova_rt.model import supply
    if arguments.runtime_us is None and arguments.budget_us is None:
        return None
    if arguments.runtime_us is not None and arguments.budget_us is not None:
        raise checks.ModelError('Give --runtime-us or --budget-us, not both.')
    if arguments.period_us is None:
        raise checks.ModelError('Give --period-us too.')
    vcpus = 1 if arguments.vcpus is None else arguments.vcpus
    budget = arguments.budget_us
    if budget is None:
        budget = arguments.runtime_us * vcpus
    return supply.Resource(budget, arguments.period_us, vcpus)


def _empty(name: str) -> dict[str, Any]:
    return dict.fromkeys((
        'scheduler', 'schedulable', 'slack_us', 'failing_task',
        'failing_instant_us', 'demand_us', 'supply_us', 'runtime_us',
        'period_us', 'vcpus', 'bandwidth', 'utilisation', 'reason', 'command',
        'tasks')) | {'scheduler': name, 'schedulable': False, 'tasks': []}


def _row(tasks: Sequence[Any], name: str, given: Any,
         arguments: argparse.Namespace) -> dict[str, Any]:
    from nova_rt.model import synthesis
    from nova_rt.model import tasks as tasks_
    found, verdict = given, None
    if given is None:
        found, verdict = least(tasks, name, arguments)
    else:
        verdict = synthesis.scheduler(name)(
            tasks, synthesis.usable(given, arguments.overhead_us))
    failure = verdict.failure
    row = _empty(name) | {
        'schedulable': verdict.schedulable, 'slack_us': verdict.slack_us,
        'runtime_us': found.runtime_us, 'period_us': found.period_us,
        'vcpus': found.vcpus, 'bandwidth': float(found.bandwidth),
        'utilisation': float(tasks_.utilisation(tasks)),
        'reason': verdict.reason,
        'tasks': _responses(tasks, verdict) if name == 'fp' else []}
    if failure is not None:
        row |= {'failing_task': str(tasks[failure.task]),
                'failing_instant_us': failure.instant_us,
                'demand_us': failure.demand_us,
                'supply_us': failure.supply_us}
    if verdict.schedulable:
        row['command'] = plan_output.flavor_command(
            'rt-tasks', found.reservation())
    return row


def least(tasks: Sequence[Any], name: str,
          arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Return the least resource that the options allow, and its verdict."""
    from nova_rt.model import checks
    from nova_rt.model import supply
    from nova_rt.model import synthesis
    periods = ([arguments.period_us] if arguments.period_us is not None
               else synthesis.periods_for(tasks))
    for period in periods:
        checks.time_us('The period', period)
    if arguments.vcpus is None:
        found = synthesis.synthesise(
            tasks, periods, name, cap=arguments.cap,
            overhead_us=arguments.overhead_us)
        return found.resource, found.verdict
    checks.count('The number of vCPUs', arguments.vcpus, supply.MAX_VCPUS)
    every = [one for period in periods if (one := synthesis.least_runtime(
        tasks, period, arguments.vcpus, name, arguments.cap,
        arguments.overhead_us)) is not None]
    if not every:
        raise checks.ModelError(
            f'No reservation of {arguments.vcpus} vCPUs and '
            f'{float(arguments.cap):g} of each suffices: try more vCPUs or a '
            'shorter period.')
    best = min(every, key=lambda one: one.resource.bandwidth)
    return best.resource, best.verdict


def _responses(tasks: Sequence[Any], verdict: Any) -> list[dict[str, Any]]:
    return [{'task': str(task), 'deadline_us': task.deadline_us,
             'response_us': response}
            for task, response in zip(
                tasks, verdict.response_us, strict=True)]
