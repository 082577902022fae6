# SPDX-License-Identifier: Apache-2.0
"""A cloud in one process: Nova with several compute services on fake kernels.

API, conductor, scheduler, Placement and the compute services with our
manager, tracker and claims are real; libvirt and the kernel are fakes. Derive a
test case from :class:`CloudTestCase`, and start hosts with :meth:`~CloudTestCase.start`.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import pathlib
import time
from typing import Any
from typing import TypeVar

import fixtures
from nova import context
from nova import objects
from nova import service
from nova import test
from nova.compute import resource_tracker
from nova.db.main import api as db_api
from nova.scheduler import request_filter
from nova.tests.functional import integrated_helpers
from nova.virt import fake
import sqlalchemy

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import shares
from nova_rt.audit import auditor
from nova_rt.compute import claims
from nova_rt.compute import hooks
from nova_rt.conductor import hooks as conductor_hooks
from nova_rt.instance import holdings
from nova_rt.reaction import counts
from nova_rt.testing import cases
from nova_rt.testing import fake_driver
from nova_rt.testing import nova33
from nova_rt.testing.fake_driver import FakeContainerDriver
from nova_rt.testing.fake_machine_driver import FakeHypervisor
from nova_rt.testing.fake_machine_driver import FakeMachineDriver
from nova_rt.virt import loans

Body = dict[str, Any]
_T = TypeVar('_T')

PATIENCE = 120  # half seconds
PCPUS = fake_driver.PCPUS
CAP = fake_driver.CAP


class _ReservationServices(cases.ReservationTestCase):
    """Puts in place what the services load when they start."""

    def setUp(self) -> None:
        super().setUp()
        self.flags(
            enabled_filters=[
                'ComputeFilter', 'ServerGroupAntiAffinityFilter',
                'RTShareFilter'],
            available_filters=[
                'nova.scheduler.filters.all_filters',
                'nova_rt.filters.rt_share_filter.RTShareFilter'],
            weight_classes=[
                'nova_rt.filters.rt_share_weigher.RTShareWeigher'],
            group='filter_scheduler')
        for target, name, value in (
                (fake, 'FakeContainerDriver', FakeContainerDriver),
                (fake, 'FakeMachineDriver', FakeMachineDriver),
                (resource_tracker, 'claims', claims)):
            self.useFixture(fixtures.MockPatchObject(
                target, name, value, create=True))
        self.useFixture(fixtures.MockPatchObject(
            service, 'SERVICE_MANAGERS', dict(service.SERVICE_MANAGERS, **{
                'nova-compute': hooks.MANAGER,
                'nova-conductor': conductor_hooks.MANAGER})))
        for driver, of_all_hosts in (
                (FakeContainerDriver, 'kernels'), (FakeContainerDriver, 'capacities'),
                (FakeContainerDriver, 'books'), (FakeContainerDriver, '_copies'),
                (FakeMachineDriver, 'hypervisors'),
                (FakeMachineDriver, 'drivers'), (FakeMachineDriver, 'ports')):
            self.useFixture(fixtures.MockPatchObject(driver, of_all_hosts, {}))
        self.useFixture(fixtures.MockPatchObject(FakeMachineDriver, 'unreachable', set()))
        # The processes of the stand-ins for containers are none.
        self.flags(hear_misses=False, group='rt')
        # This machine may have loans and counts of its own.
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for module, name in ((loans, 'loans'), (counts, 'counts')):
            self.useFixture(fixtures.MockPatchObject(module, 'FOLDER', folder / name))
        # As each scheduler process has its own.
        self.useFixture(fixtures.MockPatchObject(
            request_filter, 'ALL_REQUEST_FILTERS',
            list(request_filter.ALL_REQUEST_FILTERS)))


class StockCloudTestCase(integrated_helpers.ProviderUsageBaseTestCase, cases.NovaTestCase):
    """Nova's own services, on a machine that may be busy."""

    microversion = 'latest'
    compute_driver = 'fake.FakeDriver'

    def setUp(self) -> None:
        super().setUp()
        # Nova's own ten seconds, and below five, are few on a busy machine.
        self.useFixture(fixtures.MockPatchObject(
            self.notifier, 'wait_for_versioned_notifications', functools.partial(
                self.notifier.wait_for_versioned_notifications,
                timeout=PATIENCE / 2)))
        # That of the tests of the API is enough, and it takes long.
        self.flags(response_validation='ignore', group='api')

    def _wait_for_server_parameter(self, server: Body, expected_params: Body,
                                   max_retries: int = PATIENCE, **kwargs: Any) -> Body:
        server = super()._wait_for_server_parameter(
            server, expected_params, max(max_retries, PATIENCE), **kwargs)
        if nova33.IN_USE and expected_params.get('status') == 'ERROR':
            # The fault comes after the state: Nova 34 itself waits for it.
            return self.eventually(lambda: self._with_fault(server))
        return server

    def _with_fault(self, server: Body) -> Body:
        server = self.admin_api.get_server(server['id'])
        self.assertIn('fault', server)
        return server

    def _wait_for_migration_status(self, server: Body,
                                   expected_statuses: list[str]) -> Body:
        # Each look is one of five seconds.
        return self.eventually(
            lambda: super(StockCloudTestCase, self)._wait_for_migration_status(
                server, expected_statuses), PATIENCE // 10)

    def _wait_for_instance_action_event(self, *args: Any, **kwargs: Any) -> Body:
        wait = super()._wait_for_instance_action_event
        return self.eventually(lambda: wait(*args, **kwargs), PATIENCE // 10)

    def take_down(self, host: str) -> Any:
        """Stop a compute service, as if its host had failed, and return it."""
        compute = self.computes.pop(host)
        compute.stop()
        self.force_down(host, True)
        return compute

    def force_down(self, host: str, down: bool) -> None:
        """Tell Nova that a compute service is down, or no longer."""
        (service,) = self.admin_api.get_services(host=host, binary='nova-compute')
        self.admin_api.put_service_force_down(service['id'], down)

    def eventually(self, check: Callable[[], _T], tries: int = PATIENCE) -> _T:
        """Repeat a check until it holds; the last failure is the test's.

        Nova answers before it is done. Its periodic tasks run only when a
        test runs them, so nothing that needs mending passes here.
        """
        for _ in range(tries):
            try:
                return check()
            except AssertionError:
                time.sleep(0.5)
        return check()


class CloudTestCase(StockCloudTestCase, _ReservationServices):
    """Compute services with reservations, as many as a test starts."""

    compute_driver = 'fake.FakeContainerDriver'

    def start(self, host: str, capacity: Sequence[int] | None = None,
              **kwargs: Any) -> None:
        """Start a compute service, again if there is one of this host.

        :param capacity: by pCPU, what the host has to offer from now on
        """
        if capacity is not None:
            FakeContainerDriver.capacities[host] = tuple(capacity)
        if host in self.computes:
            self.computes[host] = self.restart_compute_service(
                self.computes[host])
        else:
            self._start_compute(host, **kwargs)

    def make_flavor(self, percent: int, vcpus: int, period_us: int = 100_000,
                    memory_mb: int = 64, **extra: str) -> str:
        """Create a flavor with this bandwidth on each vCPU."""
        flavor: str = self._create_flavor(
            vcpu=vcpus, memory_mb=memory_mb, disk=1, extra_spec={
                cases.RUNTIME: str(period_us * percent // 100),
                cases.PERIOD: str(period_us), **extra})
        return flavor

    def boot(self, flavor: str, state: str = 'ACTIVE',
             hints: Mapping[str, Any] | None = None, **kwargs: Any) -> Body:
        """Create a server and wait for its state."""
        body = self._build_server(flavor_id=flavor, networks='none', **kwargs)
        request: Body = {'server': body}
        if hints:
            request['os:scheduler_hints'] = hints
        server = self.api.post_server(request)
        changed: Body = self._wait_for_state_change(server, state)
        return changed

    def cell_context(self) -> context.RequestContext:
        """Return the context of an administrator in the first cell."""
        cell = context.get_admin_context()
        context.set_target_cell(cell, self.cell_mappings[test.CELL1_NAME])
        return cell

    def instance_of(self, server: Body) -> objects.Instance:
        """Return the instance as the database has it."""
        cell = self.cell_context()
        return objects.Instance.get_by_uuid(
            cell, server['id'], expected_attrs=['system_metadata', 'flavor'])

    def ask_database(self, query: str, **values: Any) -> Sequence[sqlalchemy.Row[Any]]:
        """Return the rows that an SQL query finds in the first cell."""
        engine = db_api.get_engine(context=self.cell_context())
        with engine.connect() as connection:
            return connection.execute(sqlalchemy.text(query), values).all()

    def fault_of(self, server: Body) -> str:
        """Wait for a fault and return the newest; of a running server the API shows none."""
        return self.eventually(lambda: self._newest_fault(self.instance_of(server)))

    def _newest_fault(self, instance: objects.Instance) -> str:
        fault = objects.InstanceFault.get_latest_for_instance(
            instance._context, instance.uuid)
        assert fault is not None, f'{instance.uuid} has no fault'
        message: str = fault.message
        return message

    def pcpus_of(self, server: Body) -> tuple[int, ...]:
        """Return the pCPUs that the claim recorded on the instance."""
        return self._holding_of(self.instance_of(server)).pcpus

    def _holding_of(self, instance: objects.Instance) -> ledger.Holding:
        holding = holdings.holding_of(instance)
        assert holding is not None, f'{instance.uuid} holds nothing'
        return holding

    def used_on(self, compute: Any) -> list[str]:
        """Return the ledger of a compute service, by pCPU in percent."""
        return [bandwidth.percent(used)
                for used in compute.manager.rt.shares.used]

    def allocated_on(self, host: str) -> int:
        """Return the share that Placement has allocated of a host."""
        share: int = self._get_provider_usages(
            self._get_provider_uuid_by_host(host))[shares.RESOURCE_CLASS]
        return share

    def kernel_of(self, compute: Any) -> Any:
        """Return the fake kernel, or hypervisor, under a compute service."""
        driver = compute.manager.driver
        return (driver.hypervisor if isinstance(driver, FakeMachineDriver)
                else driver.kernel)

    def applied_on(self, compute: Any) -> list[str]:
        """Return what servers hold in a kernel, by pCPU in percent.

        Of containers, it is also what their parent holds, not less and not more.
        """
        kernel = self.kernel_of(compute)
        if isinstance(kernel, FakeHypervisor):
            return [bandwidth.percent(share) for share in kernel.bandwidths()]
        total = [0] * _pcpus(compute)
        for group in kernel.children('machine'):
            total = [t + b for t, b in zip(
                total, kernel.bandwidths(group), strict=True)]
        if kernel.exists('machine'):
            self.assertEqual(total, kernel.bandwidths('machine'))
        return [bandwidth.percent(share) for share in total]

    def auditor_of(self, host: str) -> auditor.Auditor:
        """Return the auditor of a compute service's host."""
        compute = self.computes[host]
        (node,) = compute.manager.rt.compute_nodes.values()
        return auditor.Auditor(
            self.cell_context(), node, compute.manager.driver.reservations,
            lambda: compute.manager.driver.running())

    def assert_audited(self) -> None:
        """Assert that kernel, ledger, Nova and Placement say the same."""
        self.eventually(lambda: self.assertEqual([], [
            f'{host}: {drift.kind} of {drift.subject}: {drift.sentence}'
            for host in self.computes for drift in self.auditor_of(host).look()]))

    def assert_ledgers(self, *percents: Sequence[int]) -> None:
        """Assert what the ledgers hold, by host and pCPU in percent.

        As they are, and as the periodic task derives them anew.
        """
        expected = [[f'{percent}%' for percent in host] for host in percents]
        for _ in range(2):
            self.eventually(lambda: self.assertEqual(expected, [
                self.used_on(compute) for compute in self.computes.values()]))
            self._run_periodics()

    def assert_settled(self, *servers: Body) -> None:
        """Assert that nothing is in motion: all know and hold the same.

        The running servers' reservations, as the instances have them, are
        what the ledgers, the kernels and Placement hold, and no move has left
        a trace.
        """
        for _ in range(2):
            self.eventually(lambda: self._assert_agreed(servers))
            self._run_periodics()

    def _assert_agreed(self, servers: Sequence[Body]) -> None:
        reserved = {host: [0] * _pcpus(compute) for host, compute in self.computes.items()}
        for server in servers:
            instance = self.instance_of(server)
            self.assertEqual([], [
                key for key in instance.system_metadata
                if key.endswith('_' + holdings.PCPUS)])
            holding = self._holding_of(instance)
            for pcpu in holding.pcpus:
                reserved[str(instance.host)][pcpu] += holding.reservation.bandwidth
        self.assertEqual(
            {host: sum(pcpus) for host, pcpus in reserved.items()},
            {host: self.allocated_on(host) for host in self.computes})
        for host, compute in self.computes.items():
            expected = [bandwidth.percent(share) for share in reserved[host]]
            self.assertEqual(expected, self.used_on(compute), host)
            self.assertEqual(expected, self.applied_on(compute), host)


def _pcpus(compute: Any) -> int:
    return len(compute.manager.rt.shares.capacity)
