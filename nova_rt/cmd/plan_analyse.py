# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan analyse: does a task set meet its deadlines?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from nova_rt.cmd import plan_command
from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output
from nova_rt.model import checks

if TYPE_CHECKING:
    from nova_rt.model import supply
    from nova_rt.model import tasks as tasks_
    from nova_rt.model import verdict

_COLUMNS = (
    'scheduler', 'schedulable', 'slack_us', 'failing_task',
    'failing_instant_us', 'demand_us', 'supply_us', 'runtime_us', 'period_us',
    'vcpus', 'bandwidth', 'utilisation', 'reason', 'command', 'tasks')


class Analyse(plan_command.Command):
    """Test a task set, or find the reservation that it needs.

    Tests whether the tasks in a YAML or CSV file meet their deadlines in a
    reservation, given by its runtime or its budget, or finds the least that
    they need. Fixed priorities are deadline monotonic.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the tasks and what is known of the reservation."""
        parser = super().get_parser(prog_name)
        plan_options.add_tasks(parser)
        plan_options.add_resource(parser)
        parser.add_argument(
            '--overhead-us', type=plan_options.whole, default=0, metavar='US',
            help='what context switches take from each runtime (default: 0)')
        parser.add_argument(
            '--cap', type=plan_options.exact_fraction,
            default=Fraction(str(plan_options.DEFAULT_CAP)),
            metavar='FRACTION',
            help='largest bandwidth of a vCPU that is found (default: 0.95)')
        parser.add_argument(
            '--scheduler', choices=('fp', 'edf', 'both'), default='both',
            help='inside the reservation; the kernel has fp (default: both)')
        parser.add_argument(
            '--pinned', action='store_true',
            help='each task stays on one vCPU, which is chosen here: what a virtual '
                 'machine needs, and what every kernel keeps')
        plan_output.add_format(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Print one row for each local scheduler."""
        # Late: "--help" should not wait for NumPy and Numba.
        from nova_rt.cmd import plan_resource
        from nova_rt.model import taskfile

        tasks = taskfile.read_tasks(parsed_args.file)
        resource = plan_resource.from_options(parsed_args)
        schedulers = (('fp', 'edf') if parsed_args.scheduler == 'both'
                      else (parsed_args.scheduler,))
        rows = []
        for scheduler in schedulers:
            row: plan_output.Row = dict.fromkeys(_COLUMNS)
            row |= {'scheduler': scheduler, 'schedulable': False, 'tasks': []}
            analyse = _analyse_pinned if parsed_args.pinned else _analyse
            try:
                row |= analyse(tasks, scheduler, resource, parsed_args)
            except checks.ModelError as exc:
                if len(schedulers) == 1:
                    raise
                row['reason'] = str(exc)
            rows.append(row)
        plan_output.show(rows, parsed_args.format)


def _analyse(tasks: Sequence[tasks_.Task], scheduler: str,
             resource: supply.Resource | None,
             options: argparse.Namespace) -> plan_output.Row:
    from nova_rt.cmd import plan_resource
    from nova_rt.model import supply
    from nova_rt.model import synthesis
    from nova_rt.model import tasks as tasks_

    if resource is None:
        least = plan_resource.least(
            tasks, scheduler, options, options.cap, options.overhead_us)
        resource, answer = least.resource, least.verdict
    else:
        answer = synthesis.scheduler(scheduler)(
            tasks, synthesis.usable(resource, options.overhead_us))
    row: plan_output.Row = {
        'schedulable': answer.schedulable, 'slack_us': answer.slack_us,
        'runtime_us': resource.runtime_us, 'period_us': resource.period_us,
        'vcpus': resource.vcpus, 'bandwidth': float(resource.bandwidth),
        'utilisation': float(tasks_.utilisation(tasks)),
        'reason': answer.reason,
        'tasks': _responses(tasks, answer) if scheduler == 'fp' else []}
    if answer.failure is not None:
        row |= {'failing_task': str(tasks[answer.failure.task]),
                'failing_instant_us': answer.failure.instant_us,
                'demand_us': answer.failure.demand_us,
                'supply_us': answer.failure.supply_us}
    if answer.schedulable and resource.vcpus > 1:
        row['reason'] = ' '.join(filter(None, (
            answer.reason, supply.OUR_KERNEL_ONLY)))
    if answer.schedulable:
        row['command'] = plan_output.flavor_command(
            'rt-tasks', resource.reservation())
    return row


def _analyse_pinned(tasks: Sequence[tasks_.Task], scheduler: str,
                    resource: supply.Resource | None,
                    options: argparse.Namespace) -> plan_output.Row:
    from nova_rt.cmd import plan_resource
    from nova_rt.model import pinned
    from nova_rt.model import tasks as tasks_

    if resource is None:
        found = plan_resource.least_pinned(
            tasks, scheduler, options, options.cap, options.overhead_us)
    else:
        found = pinned.assign(tasks, resource, scheduler, options.overhead_us)
    return {
        'schedulable': True, 'slack_us': found.slack_us,
        'runtime_us': found.resource.runtime_us, 'period_us': found.resource.period_us,
        'vcpus': found.resource.vcpus, 'bandwidth': float(found.resource.bandwidth),
        'utilisation': float(tasks_.utilisation(tasks)),
        'command': plan_output.flavor_command('rt-tasks', found.resource.reservation()),
        'tasks': [
            {'task': str(task), 'vcpu': vcpu, 'deadline_us': task.deadline_us,
             'response_us': response}
            for task, vcpu, response in zip(
                tasks, found.vcpu, found.response_us, strict=True)]}


def _responses(tasks: Sequence[tasks_.Task],
               answer: verdict.Verdict) -> list[plan_output.FlatRow]:
    return [{'task': str(task), 'deadline_us': task.deadline_us,
             'response_us': response}
            for task, response in zip(
                tasks, answer.response_us, strict=True)]
