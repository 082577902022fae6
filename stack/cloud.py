# SPDX-License-Identifier: Apache-2.0
"""The whole stack: start, stop and status."""

from collections.abc import Callable
import logging

from stack import graph
from stack import guests
from stack import host
from stack import nodes
from stack.errors import StackError
from stack.interruption import uninterrupted
from stack.processes import command_line
from stack.processes import pss_kib
from stack.service import Service
from stack.service import Site
from stack.services import chosen
from stack.services import keystone

# These start containers or use the services below, so they stop first.
FIRST_TO_STOP = ('nova-compute', 'nova-compute-2', 'nova-conductor', 'nova-scheduler')


class Cloud:
    """One stack in one run directory.

    :param site: where and how.
    :param report: called with a part's name and how many seconds it took.
    """

    def __init__(
        self, site: Site,
        report: graph.Report = lambda name, seconds: None,
    ) -> None:
        self.site = site
        self._services: list[Service] = [
            part(site) for part in chosen(
                site.more, not site.nodes, site.runs_machines, site.hosts > 1)]
        if site.nodes:
            self._services += nodes.services(site)
        self._report = report

    def up(self) -> None:
        """Start everything. After a failure, nothing is left.

        :raises StackError: if a part does not start.
        """
        host.check(self.site.more, self.site.nodes > 0, self.site.runs_machines)
        self.site.rundir.create(
            compute=self.site.compute, nova_rt=self.site.nova_rt,
            more=self.site.more, nodes=self.site.nodes,
            virt_type=self.site.virt_type, hosts=self.site.hosts)
        logging.basicConfig(
            filename=self.site.rundir.logs / 'launcher.log', force=True)
        try:
            host.remember(self.site.rundir)
            graph.run(*self._jobs(), self._report)
        except BaseException:
            self.down()
            raise

    def down(self) -> list[str]:
        """Stop and give back everything, whatever state the stack is in.

        Ctrl-C does not interrupt it.

        :returns: what could not be given back, one sentence per item.
        """
        with uninterrupted():
            return self._down()

    def _down(self) -> list[str]:
        processes = self.site.processes
        processes.close()
        processes.stop(FIRST_TO_STOP)
        guests.end_all(self.site)
        processes.stop(processes.names())
        processes.stop_marked()
        problems = host.give_back(self.site.rundir)
        problems += [
            f'Process {pid} ({" ".join(command_line(pid))[:60]}) still runs.'
            for pid in processes.marked()]
        if not problems:
            self.site.rundir.discard()
        return problems

    def restart(self, name: str) -> None:
        """Stop one part, if it still runs, and start it again.

        :raises StackError: if there is no such part or it does not start.
        """
        for service in self._services:
            if service.name == name:
                self.site.processes.stop([name])
                service.start()
                return
        raise StackError(f'{name} is not a part of the stack.')

    def status(self) -> list[tuple[str, str, int]]:
        """Return for each process: name, state and memory (PSS, KiB)."""
        processes = self.site.processes
        rows = []
        for name in processes.names():
            pids = processes.members([name])
            rows.append((
                name, 'running' if pids else 'ended',
                sum(pss_kib(pid) for pid in pids)))
        return rows

    def node(self, number: int) -> nodes.Machine:
        """Return the virtual machine of a node, counted from 1."""
        return nodes.Machine(self.site, number)

    def environment(self, user: str = 'admin') -> dict[str, str]:
        """Return the environment of a user's client (admin or demo) of this stack."""
        return keystone.openrc(self.site, user)

    def _jobs(self) -> tuple[
            dict[str, Callable[[], None]], dict[str, list[str]]]:
        jobs: dict[str, Callable[[], None]] = {}
        needs: dict[str, list[str]] = {}
        known = {service.name for service in self._services}
        for service in self._services:
            for needed in (*service.needs, *service.needs_to_prepare):
                if needed not in known:
                    raise StackError(
                        f'{service.name} needs {needed}, which is not part '
                        'of this stack.')
            first = f'prepare {service.name}'
            jobs[first] = service.prepare
            needs[first] = [*service.needs_to_prepare]
            jobs[service.name] = service.start
            needs[service.name] = [first, *service.needs]
        return jobs, needs
