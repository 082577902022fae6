# SPDX-License-Identifier: Apache-2.0
"""A stand-in for libvirt, over the stand-in for the kernel.

Tests of :mod:`nova_rt.testing.cloud` use it. Elsewhere, put it where Nova looks for
drivers, ``nova.virt.fake``, and name it in ``compute_driver``::

    self.useFixture(fixtures.MockPatchObject(
        fake, 'FakeContainerDriver', FakeContainerDriver, create=True))
    self.flags(compute_driver='fake.FakeContainerDriver')
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import itertools
from typing import Any
from typing import ClassVar

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import power_state
from nova.compute import provider_tree as nova_provider_tree
from nova.virt import fake

from nova_rt import bandwidth
from nova_rt import errors as nova_rt_errors
from nova_rt import kinds
from nova_rt import ledger
from nova_rt import shares
from nova_rt import usage
from nova_rt.instance import holdings
from nova_rt.testing import fake_kernel
from nova_rt.virt import container_host
from nova_rt.virt import containers
from nova_rt.virt import host as virt_host
from nova_rt.virt import inventory
from nova_rt.virt import loans
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors

PCPUS = 4
CAP = bandwidth.fraction_to_bandwidth(0.95)
_pids = itertools.count(1000)


class WatchedKernel(fake_kernel.FakeKernel):
    """A fake kernel that notes the most that containers ever held.

    :ivar most: on one pCPU, in fixed point
    """

    most = 0

    def write(self, group: str, name: str, text: str) -> None:
        super().write(group, name, text)
        for pcpu in range(self.count):
            held = sum(self.bandwidths(child)[pcpu]
                       for child in self.children('machine'))
            self.most = max(self.most, held)


class FakeContainerDriver(fake.FakeDriver):
    """Nova's fake driver, with containers' groups in a fake kernel.

    A server's container is a process and a group, ``machine/UUID``, as long as
    the server runs. Set the class's dictionaries before a service starts, and
    restore them after the test.

    :cvar kind: that it runs
    :cvar kernels: by host; a host without an entry gets one when it starts, and
        has it again after a restart, as a kernel outlives nova-rt-compute
    :cvar capacities: by host, what each pCPU offers, in fixed point;
        :data:`CAP` on each of :data:`PCPUS` if there is no entry
    :cvar books: by host, where its loans are written down, if not where those of this
        machine are
    :ivar kernel: this host's
    :ivar reservations: this host's; it offers nothing before :meth:`init_host`
    """

    kind: ClassVar[kinds.Kind] = kinds.Kind.CONTAINER
    kernels: ClassVar[dict[str, fake_kernel.FakeKernel]] = {}
    capacities: ClassVar[dict[str, tuple[int, ...]]] = {}
    books: ClassVar[dict[str, loans.Loans]] = {}
    # By process, as the metadata of a domain.
    _copies: ClassVar[dict[int, ledger.Holding]] = {}

    kernel: fake_kernel.FakeKernel
    _on_start: Callable[[], None] = staticmethod(lambda: None)
    # The manager asks for it before init_host.
    reservations: virt_host.Host = container_host.ContainerHost(None, shares.HostShares.empty(()))

    def init_host(self, host: str) -> None:
        super().init_host(host)
        self._open(host, self.capacities.get(host, (CAP,) * PCPUS))
        self._reconcile()

    def _open(self, host: str, capacity: tuple[int, ...]) -> None:
        self.kernel = self.kernels.setdefault(
            host, fake_kernel.FakeKernel(len(capacity), multi=True))
        self.reservations = container_host.ContainerHost(
            detect.detect(self.kernel, len(capacity)),
            shares.HostShares.empty(capacity), book=self.books.get(host))

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        self._reconcile()
        return super().get_available_resource(nodename)

    def _reconcile(self) -> None:
        self.reservations.reconcile(
            (container.pid, container.copy)
            for container in self.running().values() if container.copy)

    def update_provider_tree(
            self, provider_tree: nova_provider_tree.ProviderTree, nodename: str,
            allocations: Mapping[str, Any] | None = None) -> None:
        super().update_provider_tree(provider_tree, nodename, allocations)
        inventory.offer(provider_tree, nodename, self.reservations.empty, self.kind)

    def spawn(self, context: nova_context.RequestContext, instance: objects.Instance,
              *args: Any, **kwargs: Any) -> None:
        super().spawn(context, instance, *args, **kwargs)
        self._start_if_running(instance)

    def power_on(self, context: nova_context.RequestContext, instance: objects.Instance,
                 *args: Any, **kwargs: Any) -> None:
        super().power_on(context, instance, *args, **kwargs)
        self._start(instance)

    def reboot(self, context: nova_context.RequestContext, instance: objects.Instance,
               *args: Any, **kwargs: Any) -> None:
        self._stop(instance)
        super().reboot(context, instance, *args, **kwargs)

    def finish_revert_migration(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            *args: Any, **kwargs: Any) -> None:
        super().finish_revert_migration(context, instance, *args, **kwargs)
        self._start_if_running(instance)

    def power_off(self, instance: objects.Instance, *args: Any, **kwargs: Any) -> None:
        super().power_off(instance, *args, **kwargs)
        self._stop(instance)

    def migrate_disk_and_power_off(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            *args: Any, **kwargs: Any) -> str | None:
        self._stop(instance)
        return super().migrate_disk_and_power_off(
            context, instance, *args, **kwargs)

    def suspend(self, context: nova_context.RequestContext,
                instance: objects.Instance) -> None:
        self.power_off(instance)

    def resume(self, context: nova_context.RequestContext, instance: objects.Instance,
               *args: Any, **kwargs: Any) -> None:
        self.power_on(context, instance, None)

    def rescue(self, context: nova_context.RequestContext, instance: objects.Instance,
               *args: Any, **kwargs: Any) -> None:
        self._stop(instance)
        self.power_on(context, instance, None)

    def unrescue(self, context: nova_context.RequestContext,
                 instance: objects.Instance) -> None:
        self.rescue(context, instance)

    def soft_delete(self, instance: objects.Instance) -> None:
        self.power_off(instance)

    def restore(self, instance: objects.Instance) -> None:
        self.power_on(nova_context.get_admin_context(), instance, None)

    def resume_state_on_host_boot(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            *args: Any, **kwargs: Any) -> None:
        self.power_on(context, instance, None)

    def destroy(self, context: nova_context.RequestContext, instance: objects.Instance,
                *args: Any, **kwargs: Any) -> None:
        self._stop(instance)
        super().destroy(context, instance, *args, **kwargs)

    def change_reservation(self, instance: objects.Instance,
                           holding: ledger.Holding) -> None:
        """Give a running container another budget, as RTLibvirtDriver does.

        :raises ResizeError: if the kernel does not admit it
        """
        for pid, group in list(self.kernel.pids.items()):
            if group == f'machine/{instance.uuid}':
                self._change(pid, holding)

    def _change(self, pid: int, holding: ledger.Holding) -> None:
        try:
            self.reservations.apply(pid, holding)
        except errors.KernelRefusalError as exc:
            raise exception.ResizeError(reason=str(exc)) from None
        self._copies[pid] = holding

    def move_vcpu(self, instance: objects.Instance, holding: ledger.Holding) -> None:
        """Take a vCPU of a running server to another pCPU, as RTLibvirtDriver does.

        :raises MigrationError: if that is not possible
        """
        container = self.running().get(instance.uuid)
        if container is not None:
            try:
                self.reservations.move(container.pid, holding)
            except (nova_rt_errors.NovaRTError, ProcessLookupError) as exc:
                raise exception.MigrationError(reason=str(exc).removesuffix('.')) from None
            self._copies[container.pid] = holding

    def usage(self, instance: objects.Instance) -> Mapping[int, usage.Usage]:
        """Return what the kernel has given to a server, by pCPU; nothing unless it runs."""
        container = self.running().get(instance.uuid)
        if container is None or container.copy is None:
            return {}
        return self.reservations.usages(
            {instance.uuid: (container.pid, container.copy)}).get(instance.uuid, {})

    def running(self) -> Mapping[str, containers.Container]:
        """Return the running containers, by server, as libvirt would."""
        return {group.removeprefix('machine/'): containers.Container(
                    pid, self._copies.get(pid))
                for pid, group in list(self.kernel.pids.items())}

    def on_start(self, call: Callable[[], None]) -> None:
        """Have something called whenever a server has started."""
        self._on_start = call

    def _start_if_running(self, instance: objects.Instance) -> None:
        if self.get_info(instance).state == power_state.RUNNING:
            self._start(instance)

    def _start(self, instance: objects.Instance) -> None:
        try:
            holding = holdings.holding_on(instance, self._host)
        except exception.InstanceDeployFailure:
            self._note_end(instance)
            raise
        if holding is None:
            return
        self._end_container(instance)
        pid = next(_pids)
        self._copies[pid] = holding
        self.kernel.start(pid, f'machine/{instance.uuid}')
        try:
            self.reservations.apply(pid, holding)
        except errors.KernelRefusalError as exc:
            self._stop(instance)
            raise exception.InstanceDeployFailure(reason=str(exc)) from None
        self._on_start()

    def _stop(self, instance: objects.Instance) -> None:
        if instance.uuid in self.running():
            self._note_end(instance)
            self._end_container(instance)

    def _end_container(self, instance: objects.Instance) -> bool:
        """End a server's container; return whether it ran."""
        group = f'machine/{instance.uuid}'
        pids = [pid for pid, group_of_pid in list(self.kernel.pids.items())
                if group_of_pid == group]
        for pid in pids:
            self.kernel.stop(pid)
            self.reservations.take_back(group)
        return bool(pids)

    def _note_end(self, instance: objects.Instance) -> None:
        if instance.uuid in self.instances:
            self.instances[instance.uuid].state = power_state.SHUTDOWN
