# SPDX-License-Identifier: Apache-2.0
"""A host that is simulated, as a part of a real stack."""

from collections.abc import Mapping
from collections.abc import Sequence
import json
import pathlib
import sys

from stack.services import keystone
from stack.services import nova
from tacker_rt.tests.e2e import client
from tacker_rt.tests.e2e import servers

HOST = 'simulated'
PROGRAM = 'tacker_rt.tests.e2e.simulated_compute'
# Where that finds the name of the file that it writes.
VARIABLE = 'NOVA_RT_SIMULATED'
DRIVER = 'fake.ToldDriver'


class Compute(nova.NovaCompute):
    """The compute service of the simulated host."""

    name = 'nova-compute-simulated'

    def command(self) -> Sequence[str]:
        """Return the command line; libvirt is not needed."""
        return (sys.executable, '-m', PROGRAM,
                '--config-file',
                str(self.site.rundir.etc / 'nova' / 'nova.conf'))

    def environment(self) -> Mapping[str, str]:
        """Return what differs from the real host, as oslo.config reads it."""
        self.told.parent.mkdir(exist_ok=True)
        return {
            VARIABLE: str(self.told),
            'OS_DEFAULT__HOST': HOST,
            'OS_DEFAULT__STATE_PATH': str(self.told.parent),
            'OS_DEFAULT__COMPUTE_DRIVER': DRIVER,
        }

    @property
    def told(self) -> pathlib.Path:
        """The file with what its kernel was told."""
        return self.site.rundir.data / 'simulated' / 'told.json'

    def ready(self) -> bool:
        """Whether the host can be chosen."""
        return HOST in {
            hypervisor.name for hypervisor in
            keystone.cloud(self.site).compute.hypervisors()}

    def end(self, admin: client.Client) -> None:
        """Stop it, and let Nova forget the host."""
        self.site.processes.stop([self.name])
        for service in admin.cloud.compute.services(host=HOST):
            admin.cloud.compute.delete_service(service)


class Observer:
    """Looks at servers on the simulated host."""

    def __init__(self, compute: Compute, admin: client.Client) -> None:
        self._compute = compute
        self._admin = admin

    def held(self, server: str) -> servers.Held:
        """Return the reservation of a server.

        :raises AssertionError: if Nova and the simulated kernel differ
        """
        shown = self._admin.cloud.compute.get_server(server)
        specs = shown.flavor.extra_specs
        held = servers.Held(
            int(specs[servers.RUNTIME]), int(specs[servers.PERIOD]),
            shown.flavor.vcpus)
        period_us, *runtimes_us = json.loads(
            self._compute.told.read_text())[server]
        assert period_us == held.period_us
        assert [each for each in runtimes_us if each] == (
            [held.runtime_us] * held.vcpus)
        return held
