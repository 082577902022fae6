# SPDX-License-Identifier: Apache-2.0
"""A Nova with several compute services in one process, kernels faked.

API, conductor, scheduler, Placement and the compute services with our
manager, tracker and claims are real; libvirt and the kernel are stand-ins.
"""

import itertools
from typing import ClassVar

import fixtures
from nova import context
from nova import exception
from nova import objects
from nova import service
from nova import test
from nova.compute import power_state
from nova.compute import resource_tracker
from nova.tests.functional import integrated_helpers
from nova.virt import fake

from nova_rt import bandwidth
from nova_rt import shares
from nova_rt.compute import claims
from nova_rt.compute import held
from nova_rt.compute import nova_hooks
from nova_rt.tests import fake_kernel
from nova_rt.tests.functional import base
from nova_rt.virt import host as virt_host
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import tree

PCPUS = 4
_pids = itertools.count(1000)


class FakeContainerDriver(fake.FakeDriver):
    """Nova's fake driver, with containers' groups in a fake kernel."""

    # By host: a kernel outlives its nova-rt-compute.
    kernels: ClassVar[dict[str, fake_kernel.FakeKernel]] = {}

    def init_host(self, host):
        super().init_host(host)
        self.kernel = self.kernels.setdefault(
            host, fake_kernel.FakeKernel(PCPUS, multi=True))
        spoken = detect.detect(self.kernel, PCPUS)
        self.reservations = virt_host.ReservationHost(
            spoken, shares.HostShares.empty(
                [bandwidth.fraction_to_bandwidth(0.95)] * PCPUS))

    # Known from init_host on; the manager asks for it before.
    reservations: virt_host.ReservationHost | None = None

    def spawn(self, context, instance, *args, **kwargs):
        super().spawn(context, instance, *args, **kwargs)
        self._start_if_running(instance)

    def power_on(self, context, instance, *args, **kwargs):
        super().power_on(context, instance, *args, **kwargs)
        self._start(instance)

    def reboot(self, context, instance, *args, **kwargs):
        self._stop(instance)
        super().reboot(context, instance, *args, **kwargs)

    def finish_revert_migration(self, context, instance, *args, **kwargs):
        super().finish_revert_migration(context, instance, *args, **kwargs)
        self._start_if_running(instance)

    def power_off(self, instance, *args, **kwargs):
        super().power_off(instance, *args, **kwargs)
        self._stop(instance)

    def migrate_disk_and_power_off(self, context, instance, *args, **kwargs):
        self._stop(instance)
        return super().migrate_disk_and_power_off(
            context, instance, *args, **kwargs)

    def destroy(self, context, instance, *args, **kwargs):
        self._stop(instance)
        super().destroy(context, instance, *args, **kwargs)

    def _start_if_running(self, instance):
        if self.get_info(instance).state == power_state.RUNNING:
            self._start(instance)

    def _start(self, instance):
        holding = held.holding_on(instance, self._host)
        if holding is None:
            return
        pid = next(_pids)
        self.kernel.start(pid, f'machine/{instance.uuid}')
        try:
            self.reservations.apply(pid, holding)
        except tree.KernelRefusal as why:
            self._stop(instance)
            raise exception.InstanceDeployFailure(reason=str(why)) from None

    def _stop(self, instance):
        group = f'machine/{instance.uuid}'
        for pid in [pid for pid, of in self.kernel.pids.items()
                    if of == group]:
            self.kernel.stop(pid)
            self.reservations.settle(group)


class _ReservationServices(base.ReservationTestCase):
    """Puts in place what the services load when they start."""

    def setUp(self):
        super().setUp()
        self.flags(
            enabled_filters=['ComputeFilter', 'RTShareFilter'],
            available_filters=[
                'nova.scheduler.filters.all_filters',
                'nova_rt.filters.rt_share_filter.RTShareFilter'],
            weight_classes=[
                'nova_rt.filters.rt_share_weigher.RTShareWeigher'],
            group='filter_scheduler')
        for target, name, value in (
                (fake, 'FakeContainerDriver', FakeContainerDriver),
                (resource_tracker, 'claims', claims)):
            self.useFixture(fixtures.MockPatchObject(
                target, name, value, create=True))
        self.useFixture(fixtures.MockPatchObject(
            service, 'SERVICE_MANAGERS', dict(service.SERVICE_MANAGERS, **{
                'nova-compute': nova_hooks.MANAGER})))
        self.useFixture(fixtures.MockPatchObject(
            FakeContainerDriver, 'kernels', {}))


class CloudTestCase(integrated_helpers.ProviderUsageBaseTestCase,
                    _ReservationServices):
    """Compute services with reservations, as many as a test starts."""

    microversion = 'latest'
    compute_driver = 'fake.FakeContainerDriver'

    def make_flavor(self, percent, vcpus, period_us=100_000, **extra):
        """Create a flavor with this bandwidth on each vCPU."""
        return self._create_flavor(
            vcpu=vcpus, memory_mb=64, disk=1, extra_spec={
                base.RUNTIME: str(period_us * percent // 100),
                base.PERIOD: str(period_us), **extra})

    def boot(self, flavor, state='ACTIVE', hints=None, **kwargs):
        """Create a server and wait for its state."""
        body = self._build_server(flavor_id=flavor, networks='none', **kwargs)
        request = {'server': body}
        if hints:
            request['os:scheduler_hints'] = hints
        server = self.api.post_server(request)
        return self._wait_for_state_change(server, state)

    def instance_of(self, server):
        """Return the instance as the database has it."""
        cell = context.get_admin_context()
        context.set_target_cell(cell, self.cell_mappings[test.CELL1_NAME])
        return objects.Instance.get_by_uuid(
            cell, server['id'], expected_attrs=['system_metadata', 'flavor'])

    def fault_of(self, server):
        """Return the newest fault, which the API shows of no running server."""
        instance = self.instance_of(server)
        return objects.InstanceFault.get_latest_for_instance(
            instance._context, instance.uuid).message

    def pcpus_of(self, server):
        """Return the pCPUs that the claim noted on the instance."""
        return held.holding_of(self.instance_of(server)).pcpus

    def used_on(self, compute):
        """Return the ledger of a compute service, by pCPU in percent."""
        return [bandwidth.percent(used)
                for used in compute.manager.rt.shares.used]

    def kernel_of(self, compute):
        """Return the fake kernel under a compute service."""
        return compute.manager.driver.kernel

    def applied_on(self, compute):
        """Return what containers hold in a kernel, by pCPU in percent.

        It is also what their parent holds, not less and not more.
        """
        kernel = self.kernel_of(compute)
        total = [0] * PCPUS
        for group in kernel.children('machine'):
            total = [t + b for t, b in zip(
                total, kernel.bandwidths(group), strict=True)]
        if kernel.exists('machine'):
            self.assertEqual(total, kernel.bandwidths('machine'))
        return [bandwidth.percent(each) for each in total]

    def assert_ledgers(self, *expected):
        """Assert what the ledgers hold, by host and pCPU in percent.

        As they are, and as the periodic task derives them anew.
        """
        expected = [[f'{percent}%' for percent in host] for host in expected]
        for _ in range(2):
            self.assertEqual(expected, [
                self.used_on(compute) for compute in self.computes.values()])
            self._run_periodics()

    def assert_settled(self, *servers):
        """Assert that nothing is in motion: all know and hold the same.

        The running servers' reservations, as the instances tell them, are
        what the ledgers and the kernels hold, and no move has left a trace.
        """
        told = {host: [0] * PCPUS for host in self.computes}
        for server in servers:
            instance = self.instance_of(server)
            self.assertEqual([], [
                key for key in instance.system_metadata
                if key.endswith('_' + held.PCPUS)])
            holding = held.holding_of(instance)
            for pcpu in holding.pcpus:
                told[instance.host][pcpu] += holding.reservation.bandwidth
        told = {host: [bandwidth.percent(each) for each in pcpus]
                for host, pcpus in told.items()}
        for _ in range(2):
            for host, compute in self.computes.items():
                self.assertEqual(told[host], self.used_on(compute), host)
                self.assertEqual(told[host], self.applied_on(compute), host)
            self._run_periodics()
