# SPDX-License-Identifier: Apache-2.0
"""nova-rt-plan plot: pictures, as SVG and PNG."""

from __future__ import annotations

import abc
import argparse
from collections.abc import Iterator
from typing import Any
from typing import TYPE_CHECKING

from nova_rt import fleet
from nova_rt import wording
from nova_rt.cmd import plan_command
from nova_rt.cmd import plan_options
from nova_rt.cmd import plan_output
from nova_rt.cmd import plan_simulate

if TYPE_CHECKING:
    from nova_rt.model import queueing

SIMULATED = 8
REQUESTS = 20_000


class Picture(plan_command.Command):
    """A command that draws."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add where the picture goes."""
        parser = super().get_parser(prog_name)
        name = type(self).__name__.lower()
        parser.add_argument(
            '-o', '--output', default=name, metavar='BASE',
            help=f'path without .svg and .png (default: {name})')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Draw, and print the paths of the pictures."""
        # Late: "--help" should not wait for Matplotlib.
        from nova_rt.model.plots import style

        with style.look():
            paths = style.save(self.draw(parsed_args), parsed_args.output)
        print(*paths, sep='\n')

    @abc.abstractmethod
    def draw(self, parsed_args: argparse.Namespace) -> Any:
        """Return a figure of Matplotlib, which has no types."""


class Response(Picture):
    """Draw response times of a service over its bandwidth."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the service, its target and the reservations to simulate."""
        parser = super().get_parser(prog_name)
        plan_options.add_service(parser, required=True)
        plan_options.add_target(parser, required=False)
        parser.add_argument(
            '--period-us', type=plan_options.period_us, default=1000,
            metavar='US',
            help='of the simulated reservations (default: 1000)')
        plan_options.add_cap(parser)
        return parser

    def draw(self, parsed_args: argparse.Namespace) -> Any:
        """Return the formula as lines and simulations as dots."""
        from nova_rt.model import sizing
        from nova_rt.model import taskfile
        from nova_rt.model.plots import response

        service = taskfile.service(
            parsed_args.arrival_rate, parsed_args.processing_us,
            parsed_args.delay_us or 0, parsed_args.network_mbps,
            parsed_args.request_bytes)
        target = None if parsed_args.deadline_us is None else sizing.Target(
            parsed_args.deadline_us / 1e6, parsed_args.percentile)
        return response.draw(
            service, target, parsed_args.cap,
            list(_simulate(service, parsed_args.period_us, parsed_args.cap)))


def _simulate(service: queueing.Service, period_us: int,
              cap: float) -> Iterator[tuple[float, float, float]]:
    """Yield (Q/P, mean, 99th percentile) of simulated reservations, in s."""
    import numpy as np

    from nova_rt.model import cbs_queue

    border = service.arrival_rate / service.processing_rate
    requests = cbs_queue.affordable(service, period_us, REQUESTS)
    for part in plan_output.track(range(1, SIMULATED + 1), 'Simulating'):
        runtime = round(
            period_us * (border + (cap - border) * part / SIMULATED))
        if requests and border < runtime / period_us <= 1:
            sample = cbs_queue.simulate(service, runtime, period_us, requests)
            yield (runtime / period_us, float(sample.cbs.mean()),
                   float(np.quantile(sample.cbs, 0.99)))


class Bounds(Picture):
    """Draw supply and demand of a task set."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the tasks and what they run in."""
        parser = super().get_parser(prog_name)
        plan_options.add_tasks(parser)
        plan_options.add_resource(parser)
        return parser

    def draw(self, parsed_args: argparse.Namespace) -> Any:
        """Return the bound functions under both local schedulers."""
        from nova_rt.cmd import plan_resource
        from nova_rt.model import taskfile
        from nova_rt.model.plots import bounds

        tasks = taskfile.read_tasks(parsed_args.file)
        return bounds.draw(tasks, plan_resource.any_of(tasks, parsed_args))


class Schedule(Picture):
    """Draw a Gantt chart of a task set."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the tasks, what they run in and what to draw."""
        parser = super().get_parser(prog_name)
        plan_options.add_tasks(parser)
        plan_options.add_resource(parser)
        parser.add_argument(
            '--length-us', type=plan_options.whole, metavar='US',
            help='what to draw (default: the longest period)')
        parser.add_argument(
            '--alone', action='store_true',
            help='no other load, instead of the worst that is admitted')
        return parser

    def draw(self, parsed_args: argparse.Namespace) -> Any:
        """Return the simulated schedule under fixed priorities."""
        from nova_rt.cmd import plan_resource
        from nova_rt.model import campaign
        from nova_rt.model import simulator
        from nova_rt.model import taskfile
        from nova_rt.model import tasks as tasks_
        from nova_rt.model.plots import gantt

        tasks = taskfile.read_tasks(parsed_args.file)
        resource = plan_resource.any_of(tasks, parsed_args)
        servers, load = campaign.late_supply(resource)
        if parsed_args.alone:
            load = []
            servers = [simulator.Server(
                server.pcpu, server.runtime_us, server.period_us)
                for server in servers]
        length = parsed_args.length_us or max(
            task.period_us for task in tasks)
        group = simulator.Group(
            servers, tasks, tasks_.deadline_monotonic(tasks))
        outcome = simulator.simulate([group], length, load, trace=True)
        return gantt.draw(outcome, tasks, len(load), (
            f'{wording.counted(len(tasks), "task")} in '
            f'{resource.runtime_us / 1000:g} ms every '
            f'{resource.period_us / 1000:g} ms on '
            f'{wording.counted(resource.vcpus, "vCPU")}'))


class Host(Picture):
    """Draw the reservations on pCPUs.

    They are read from JSON lines as nova-rt-plan simulate takes them.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the operations and the fleet."""
        parser = super().get_parser(prog_name)
        parser.add_argument('file', help='JSON lines')
        plan_options.add_fleet(parser)
        return parser

    def draw(self, parsed_args: argparse.Namespace) -> Any:
        """Return the hosts after all operations."""
        from nova_rt.model.plots import hosts

        cloud = fleet.Fleet(
            plan_options.empty_hosts(parsed_args), parsed_args.policy)
        with open(parsed_args.file, 'rb') as lines:
            for _ in plan_simulate.answers(cloud, lines):
                pass
        return hosts.draw(cloud.hosts, cloud.placements, parsed_args.policy)
