# SPDX-License-Identifier: Apache-2.0
"""A stand-in for libvirt's virtual machines, over the stand-in for the scheduler.

A test case of :mod:`nova_rt.testing.cloud` uses it with
``compute_driver = 'fake.FakeMachineDriver'``.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import itertools
from typing import Any
from typing import ClassVar

from nova import context as nova_context
from nova import exception
from nova import objects

from nova_rt import kinds
from nova_rt import ledger
from nova_rt import shares
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.testing import fake_driver
from nova_rt.testing import fake_scheduler
from nova_rt.virt import containers
from nova_rt.virt import live_migration
from nova_rt.virt import machine_host
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import threads

_numbers = itertools.count(1)


class FakeHypervisor(fake_scheduler.FakeScheduler):
    """A scheduler, and the virtual machines whose vCPUs it runs.

    :ivar domains: by libvirt's id, the server and the threads of its vCPUs
    :ivar arrived: the domains that wait for their reservation after a live migration
    :ivar resumed: server and bandwidth of each vCPU, whenever one was resumed
    :ivar most: the most bandwidth that threads ever had on one pCPU, in fixed point
    :ivar overcommits: why a reservation was not applied for which the ledger had room
    :ivar refuse_next: the errno with which the next write is refused
    :ivar refuse_containers: the errno with which all are refused that reserve something
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.domains: dict[int, tuple[str, tuple[int, ...]]] = {}
        self.arrived: set[int] = set()
        self.resumed: list[tuple[str, list[int]]] = []
        self.most = 0
        self.overcommits: list[str] = []
        self.refuse_next: int | None = None
        self.refuse_containers: int | None = None

    def create(self, server: str, vcpus: int) -> int:
        """Start a server's virtual machine, paused; return libvirt's id."""
        number = next(_numbers)
        self.domains[number] = (server, self.start(vcpus))
        return number

    def migrate(self, server: str, there: FakeHypervisor, vcpus: int) -> int:
        """Move a server's virtual machine, as libvirt does; return its id there."""
        number = there.create(server, vcpus)
        there.arrived.add(number)
        self.destroy(server)
        return number

    def write(self, thread: int, wanted: attributes.Attributes) -> None:
        refused, self.refuse_next = self.refuse_next, None
        refused = refused or (self.refuse_containers if wanted.bandwidth else None)
        if refused:
            self.refuse[thread] = refused
        super().write(thread, wanted)
        self.most = max(self.most, *self.bandwidths())

    def set_affinity(self, thread: int, pcpus: frozenset[int]) -> None:
        super().set_affinity(thread, pcpus)
        self.most = max(self.most, *self.bandwidths())

    def resume(self, number: int) -> None:
        """Let it run; note the bandwidth that each vCPU has by then."""
        self.arrived.discard(number)
        server, threads = self.domains[number]
        self.resumed.append((server, [self.read(thread).bandwidth for thread in threads]))

    def destroy(self, server: str) -> bool:
        """End a server's virtual machine; return whether there was one."""
        numbers = [number for number, (owner, _) in self.domains.items() if owner == server]
        self.arrived.difference_update(numbers)
        for number in numbers:
            self.end(*self.domains.pop(number)[1])
        return bool(numbers)

    def threads_of(self, number: int) -> tuple[int, ...]:
        """Return the threads of the vCPUs, as QEMU's monitor does."""
        if number not in self.domains:
            raise ProcessLookupError(f'There is no domain {number}.')
        return self.domains[number][1]


class WatchedHost(machine_host.MachineHost):
    """A host that notes what its ledger should not have let happen.

    :param hypervisor: that it applies reservations with
    """

    def __init__(self, hypervisor: FakeHypervisor, empty: shares.HostShares) -> None:
        super().__init__(hypervisor, empty, hypervisor.threads_of)
        self._overcommits = hypervisor.overcommits

    def _check_room(self, number: int, settings: Sequence[threads.Setting]) -> None:
        try:
            super()._check_room(number, settings)
        except machine_host.OvercommitError as exc:
            self._overcommits.append(str(exc))
            raise


class FakeMachineDriver(fake_driver.FakeContainerDriver):
    """Nova's fake driver, with the vCPUs of virtual machines in a fake scheduler.

    :cvar hypervisors: by host; as the base class's kernels
    :cvar drivers: by host
    :cvar ports: by server, the socket by which it tells of its jobs
    :cvar unreachable: the hosts that no virtual machine arrives at by live migration
    :ivar hypervisor: this host's
    """

    kind = kinds.Kind.MACHINE
    hypervisors: ClassVar[dict[str, FakeHypervisor]] = {}
    drivers: ClassVar[dict[str, FakeMachineDriver]] = {}
    unreachable: ClassVar[set[str]] = set()
    ports: ClassVar[dict[str, str]] = {}

    hypervisor: FakeHypervisor

    def _open(self, host: str, capacity: tuple[int, ...]) -> None:
        self.drivers[host] = self
        self.hypervisor = self.hypervisors.setdefault(host, FakeHypervisor(len(capacity)))
        self.reservations = WatchedHost(self.hypervisor, shares.HostShares.empty(capacity))

    def running(self) -> Mapping[str, containers.Container]:
        """Return the running virtual machines, by server, as libvirt would."""
        return {server: containers.Container(
                    number, self._copies.get(number), self.ports.get(server))
                for number, (server, _) in list(self.hypervisor.domains.items())}

    def change_reservation(self, instance: objects.Instance,
                           holding: ledger.Holding) -> None:
        """Give a running virtual machine another reservation, as RTLibvirtDriver does.

        :raises ResizeError: if the kernel does not admit it
        """
        running = self.running().get(instance.uuid)
        if running is None:
            return
        try:
            self.reservations.apply(running.pid, holding)
        except errors.DeadlineError as exc:
            raise exception.ResizeError(reason=str(exc)) from None
        self._copies[running.pid] = holding

    def _start(self, instance: objects.Instance) -> None:
        try:
            holding = holdings.holding_on(instance, self._host)
        except exception.InstanceDeployFailure:
            self._note_end(instance)
            raise
        self._end_container(instance)
        number = self.hypervisor.create(instance.uuid, instance.flavor.vcpus)
        if holding is not None:
            self._copies[number] = holding
            try:
                self.reservations.apply(number, holding)
            except errors.DeadlineError as exc:
                self._stop(instance)
                raise exception.InstanceDeployFailure(reason=str(exc)) from None
        self.hypervisor.resume(number)

    def check_can_live_migrate_destination(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            *args: Any, **kwargs: Any) -> Any:
        data = super().check_can_live_migrate_destination(
            context, instance, *args, **kwargs)
        if holdings.holding_of(instance) is not None:
            live_migration.offer_claim(data)
        return data

    def check_can_live_migrate_source(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            dest_check_data: Any, block_device_info: Any = None) -> Any:
        if holdings.holding_of(instance) is not None:
            live_migration.accept_claim(dest_check_data)
        return dest_check_data

    def post_claim_migrate_data(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            migrate_data: Any, claim: Any) -> Any:
        live_migration.note_claim(migrate_data, instance)
        return migrate_data

    def pre_live_migration(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            block_device_info: Any, network_info: Any, disk_info: Any,
            migrate_data: Any) -> Any:
        if holdings.holding_of(instance) is not None:
            live_migration.try_out(self.reservations, instance, migrate_data)
        return migrate_data

    def live_migration(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            dest: str, post_method: Callable[..., None],
            recover_method: Callable[..., None], block_migration: bool = False,
            migrate_data: Any = None) -> None:
        """Move the virtual machine, paused, as libvirt does; then go on as Nova does."""
        there = self.drivers[dest]
        if dest in self.unreachable:
            recover_method(context, instance, dest, migrate_data)
            return
        number = self.hypervisor.migrate(
            instance.uuid, there.hypervisor, instance.flavor.vcpus)
        reserved = flavors.reservation_of(instance.flavor)
        if reserved is not None:
            self._copies[number] = ledger.Holding(
                reserved, live_migration.claimed(migrate_data))
        there.instances[instance.uuid] = self.instances.pop(instance.uuid)
        post_method(context, instance, dest, block_migration, migrate_data)

    def post_live_migration_at_destination(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            *args: Any, **kwargs: Any) -> None:
        """Resume the virtual machine that has arrived.

        :raises InstanceDeployFailure: if the kernel does not admit its reservation
        """
        try:
            self._receive(self.running()[instance.uuid])
        except errors.DeadlineError as exc:
            raise exception.InstanceDeployFailure(reason=str(exc)) from None

    def _reconcile(self) -> None:
        super()._reconcile()
        for domain in self.running().values():
            with contextlib.suppress(errors.DeadlineError):
                self._receive(domain)

    def _receive(self, domain: containers.Container) -> None:
        if domain.pid in self.hypervisor.arrived:
            if domain.copy is not None:
                self.reservations.apply(domain.pid, domain.copy)
            self.hypervisor.resume(domain.pid)

    def is_here(self, instance: objects.Instance) -> bool:
        """Return whether a server's virtual machine is on this host."""
        return instance.uuid in self.instances

    def _end_container(self, instance: objects.Instance) -> bool:
        return self.hypervisor.destroy(instance.uuid)
