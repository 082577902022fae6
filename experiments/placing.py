# SPDX-License-Identifier: Apache-2.0
"""Where our Nova and a stock one put the containers of RT-Kube's deployments.

``python -m experiments orchestration`` runs it with pytest and native threads.
``NOVA_RT_PLACEMENTS`` is the folder for one JSON file per cloud and deployment:
for each container its criticality, its node and, on our Nova, its pCPU. API,
scheduler, Placement and compute services are real; libvirt and the kernel are
fakes.
"""

from collections.abc import Callable
import json
import os
from pathlib import Path
import time
from typing import Any

import fixtures
from nova.tests.functional import integrated_helpers
from nova.virt import fake

from experiments import rtkube
from nova_rt.testing import cases
from nova_rt.testing import cloud
from nova_rt.testing import fake_driver

COUNTS = os.environ.get('NOVA_RT_COUNTS')
Server = dict[str, Any]


class SizedDriver(fake.FakeDriver):
    """Nova's fake driver on a node of the paper's size."""

    def init_host(self, host: str) -> None:
        node = rtkube.NODES[host]
        self.vcpus, self.memory_mb = node.pcpus, node.memory_mb
        super().init_host(host)
        self.resources = fake.Resources(node.pcpus, node.memory_mb, 600_000)


class SizedContainerDriver(fake_driver.FakeContainerDriver, SizedDriver):
    """SizedDriver with containers' groups."""


class _Deployments(integrated_helpers.ProviderUsageBaseTestCase):
    """A mix-in that deploys the containers and writes their placements."""

    def _start(self) -> None:
        # 72 containers of one vCPU must fit on 8 pCPUs: Nova would stop at 32.
        self.flags(cpu_allocation_ratio=16.0, ram_allocation_ratio=1.0)
        self.flags(instances=-1, cores=-1, ram=-1, group='quota')
        for name in rtkube.NODES:
            self._start_compute(name)

    def _deploy(self, name: str, deployment: str,
                specs: Callable[[str], str]) -> None:
        wanted = rtkube.counts(deployment, COUNTS)
        for level, count in wanted.items():
            body = self._build_server(
                flavor_id=specs(level), networks='none', name=level)
            body |= {'min_count': count, 'max_count': count}
            self.api.post_server({'server': body})
        total = sum(wanted.values())
        servers = self._settled(total)
        rows = [self._row(server) for server in servers]
        path = Path(os.environ['NOVA_RT_PLACEMENTS'],
                    f'{name}-{deployment}.json')
        path.write_text(json.dumps(rows))

    def _settled(self, total: int) -> list[Server]:
        for _ in range(400):
            servers: list[Server] = self.admin_api.get_servers(detail=True)
            if len(servers) == total and all(
                    server['status'] in ('ACTIVE', 'ERROR')
                    for server in servers):
                return servers
            time.sleep(3)
        raise AssertionError('The servers are still being built.')

    def _pcpu(self, server: Server) -> int | None:
        """Return the pCPU of a server; None where Nova chooses none."""
        return None

    def _row(self, server: Server) -> dict[str, str | int | None]:
        placed = server['status'] == 'ACTIVE'
        return {'criticality': server['name'].split('-')[0],
                'node': server['OS-EXT-SRV-ATTR:host'] if placed else None,
                'pcpu': self._pcpu(server) if placed else None}


class TestOurNova(_Deployments, cloud.CloudTestCase):
    """Filter, weigher and claim of nova-rt."""

    compute_driver = 'fake.SizedContainerDriver'

    def setUp(self) -> None:
        self.useFixture(fixtures.MockPatchObject(
            fake, 'SizedContainerDriver', SizedContainerDriver, create=True))
        super().setUp()
        for name, node in rtkube.NODES.items():
            SizedContainerDriver.capacities[name] = node.capacity
        self._start()

    def _specs(self, level: str) -> str:
        task = rtkube.TASKS[level]
        flavor: str = self._create_flavor(
            vcpu=1, memory_mb=rtkube.MEMORY_MB, disk=1, extra_spec={
                cases.RUNTIME: str(task.wcet_us),
                cases.PERIOD: str(task.period_us)})
        return flavor

    def _pcpu(self, server: Server) -> int:
        (pcpu,) = self.pcpus_of(server)
        return pcpu

    def test_places_the_first_deployment(self) -> None:
        self._deploy('ours', 'first', self._specs)

    def test_places_the_second_deployment(self) -> None:
        self._deploy('ours', 'second', self._specs)


class TestStockNova(_Deployments, cases.ReservationTestCase):
    """Nova's own filters and weighers, without reservations."""

    microversion = 'latest'
    compute_driver = 'fake.SizedDriver'

    def setUp(self) -> None:
        self.useFixture(fixtures.MockPatchObject(
            fake, 'SizedDriver', SizedDriver, create=True))
        super().setUp()
        self._start()

    def _specs(self, level: str) -> str:
        flavor: str = self._create_flavor(
            vcpu=1, memory_mb=rtkube.MEMORY_MB, disk=1)
        return flavor

    def test_places_the_first_deployment(self) -> None:
        self._deploy('stock', 'first', self._specs)

    def test_places_the_second_deployment(self) -> None:
        self._deploy('stock', 'second', self._specs)
