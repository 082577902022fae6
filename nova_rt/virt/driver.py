# SPDX-License-Identifier: Apache-2.0
"""The libvirt driver for containers and virtual machines with reservations."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import functools
from typing import Any

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import provider_tree as nova_provider_tree
from nova.compute import task_states
from nova.virt import event as virtevent
from nova.virt.libvirt import driver
from nova.virt.libvirt import guest as libvirt_guest
from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import ledger
from nova_rt import reservation
from nova_rt import usage
from nova_rt.instance import holdings
from nova_rt.virt import containers
from nova_rt.virt import domain_xml
from nova_rt.virt import domains
from nova_rt.virt import inventory
from nova_rt.virt import kinds
from nova_rt.virt import live_migration
from nova_rt.virt import machine_start
from nova_rt.virt import prerequisites
from nova_rt.virt import root_disk
from nova_rt.virt import this_host
from nova_rt.virt import vif
from nova_rt.virt import workarounds
from nova_rt.virt.rt_init import program

CONF = cfg.CONF

LOG = logging.getLogger(__name__)


class RTLibvirtDriver(driver.LibvirtDriver):
    """Nova's libvirt driver; gives servers their reservations.

    :ivar reservations: the host as the kernel holds it; what the resource
        tracker and the audit ask
    :raises UnavailableError: if reservations are to be offered but cannot be
    """

    def __init__(self, virtapi: Any, read_only: bool = False) -> None:
        super().__init__(virtapi, read_only)
        if CONF.rt.hcbs_scheduler_available:
            prerequisites.check(CONF)
        self.reservations = this_host.from_options(
            CONF, lambda: self._host.get_connection())
        self._domains = domains.DomainReservations(self._host, self.reservations)
        self._on_start: Callable[[], None] = _nothing
        if CONF.libvirt.virt_type == 'lxc':
            self.vif_driver = vif.ContainerVIFDriver(self._host)

    def init_host(self, host: str) -> None:
        """See base class; the kernel then holds what the servers hold."""
        if CONF.rt.hcbs_scheduler_available and not _runs_machines():
            prerequisites.install_rt_init(CONF)
        super().init_host(host)
        self._domains.reconcile()

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        """See base class; what was left over is taken back as well."""
        self._domains.reconcile()
        return super().get_available_resource(nodename)

    def update_provider_tree(
            self, provider_tree: nova_provider_tree.ProviderTree, nodename: str,
            allocations: Mapping[str, Any] | None = None) -> None:
        """See base class; adds the inventory of reservations."""
        super().update_provider_tree(provider_tree, nodename, allocations)
        inventory.offer(
            provider_tree, nodename, self.reservations.empty, kinds.of(CONF))

    def running(self) -> Mapping[str, containers.Container]:
        """Return the running containers or virtual machines, by server.

        :raises UnreachableError: if libvirt does not answer
        """
        return containers.running(CONF)

    def on_start(self, call: Callable[[], None]) -> None:
        """Have something called whenever a server has started, soon after that."""
        self._on_start = call

    def change_reservation(self, instance: objects.Instance,
                           holding: ledger.Holding) -> None:
        """Give a server another budget, whether it runs or not.

        :param holding: on the pCPUs that it has
        :raises ResizeError: if it cannot have it; it has then what it had, or, if
            libvirt does not answer, what :meth:`init_host` finds
        """
        self._domains.change(instance, holding)

    def move_vcpu(self, instance: objects.Instance, holding: ledger.Holding) -> None:
        """Take a vCPU of a server to another pCPU, whether it runs or not.

        :param holding: what the server has afterwards, or, to take back what failed
            halfway, what it had
        :raises MigrationError: if that is not possible; call this again with what the
            server had
        """
        self._domains.move(instance, holding)

    def usage(self, instance: objects.Instance) -> Mapping[int, usage.Usage]:
        """Return what the kernel has given to a server, by pCPU; nothing unless it runs.

        :raises libvirtError: if libvirt does not answer
        """
        return self._domains.usage(instance)

    def _get_guest_xml(self, context: nova_context.RequestContext,
                       instance: objects.Instance, *args: Any, **kwargs: Any) -> str:
        xml = super()._get_guest_xml(context, instance, *args, **kwargs)
        holding = holdings.holding_on(instance, CONF.host)
        if holding is None:
            return xml
        if _runs_machines():
            return machine_start.domain(xml, holding, instance, CONF.rt.hear_misses)
        return domain_xml.with_reservation(
            xml, holding, str(program.on_host(CONF.instances_path)),
            reservation.init_policy(instance.flavor.extra_specs))

    def _create_guest(
            self, context: nova_context.RequestContext, xml: str,
            instance: objects.Instance, power_on: bool = True,
            pause: bool = False, post_xml_callback: Any = None,
            ) -> libvirt_guest.Guest:
        """See base class; a server without its reservation is ended.

        A container's init waits for the reservation, so it would wait for ever. A
        virtual machine is resumed only when it has it.

        :raises InstanceDeployFailure: then; Nova cleans up and tries the next
            host
        """
        starts = power_on or pause
        waits = starts and machine_start.must_wait(xml)
        guest = super()._create_guest(
            context, xml, instance, power_on=power_on, pause=pause or waits,
            post_xml_callback=post_xml_callback)
        if starts:
            try:
                self._domains.apply(instance)
                if waits and not pause:
                    guest.resume()
            except Exception:
                # Whatever Nova calls it that libvirt was away for a moment.
                self._end_unreserved(instance, guest, waits)
                raise
        return guest

    def _end_unreserved(self, instance: objects.Instance,
                        guest: libvirt_guest.Guest, waits: bool) -> None:
        """End a server that cannot have its reservation; a suspended one is kept.

        It has been started from its saved memory, but has not run.

        :param waits: whether it is a virtual machine
        """
        if waits and instance.task_state == task_states.RESUMING:
            guest.save_memory_state()
        else:
            self._destroy(instance)

    def suspend(self, context: nova_context.RequestContext,
                instance: objects.Instance) -> None:
        """See base class; a container runs on, as libvirt cannot save its memory.

        :raises InstanceFaultRollback: then; Nova would say ERROR
        """
        if CONF.libvirt.virt_type == 'lxc':
            raise exception.InstanceFaultRollback(exception.InstanceSuspendFailure(
                reason="libvirt cannot save a container's memory: pause or stop it."))
        super().suspend(context, instance)

    def resume(self, context: nova_context.RequestContext, instance: objects.Instance,
               *args: Any, **kwargs: Any) -> None:
        """See base class; a virtual machine that cannot have its reservation stays suspended.

        :raises InstanceFaultRollback: then
        """
        try:
            super().resume(context, instance, *args, **kwargs)
        except exception.InstanceDeployFailure as exc:
            raise exception.InstanceFaultRollback(exc) from None

    def _cleanup(self, context: nova_context.RequestContext, instance: objects.Instance,
                 *args: Any, **kwargs: Any) -> None:
        """See base class; what could not be resumed keeps its saved memory.

        Nova would undefine the domain, and the memory with it.
        """
        if (instance.task_state == task_states.RESUMING
                and holdings.holding_of(instance) is not None):
            return
        super()._cleanup(context, instance, *args, **kwargs)

    def _resume_guest_after_snapshot(
            self, context: nova_context.RequestContext, live_snapshot: bool,
            original_power_state: int, instance: objects.Instance,
            guest: libvirt_guest.Guest) -> None:
        """See base class; a virtual machine waits for its reservation here, too."""
        super()._resume_guest_after_snapshot(
            context, live_snapshot, original_power_state, instance,
            machine_start.WaitingGuest(guest, instance, self._domains))

    def _destroy(self, instance: objects.Instance) -> None:
        """See base class; then nothing is left of the container's budget.

        One that shut down when Nova asked it to has no group any more.
        """
        group = self._domains.group_of(instance)
        workarounds.end_despite_vanishing_groups(
            functools.partial(super()._destroy, instance))
        self._domains.take_back(group)

    def emit_event(self, event: Any) -> None:
        """See base class; servers that start, end or arrive by themselves count too.

        libvirt restarts a container whose init asks for a reboot, and an
        operator may start one: the new group has no runtime yet. A virtual machine
        that arrives by live migration is paused.
        """
        try:
            if isinstance(event, virtevent.LifecycleEvent):
                self._follow(event)
        except Exception:
            # The periodic update does it.
            LOG.exception('The reservation of server %s could not follow what it did',
                          event.uuid)
        super().emit_event(event)

    def _follow(self, event: virtevent.LifecycleEvent) -> None:
        if event.transition == virtevent.EVENT_LIFECYCLE_STARTED:
            self._domains.apply_after_event(event)
            self._on_start()
        elif event.transition == virtevent.EVENT_LIFECYCLE_PAUSED:
            self._domains.receive_after_event(event)
            self._on_start()
        elif event.transition == virtevent.EVENT_LIFECYCLE_STOPPED:
            self.reservations.take_back_all()

    def _soft_reboot(self, instance: objects.Instance) -> bool:
        """Shut a server down, and leave its start to a hard reboot.

        Nova would start the domain again at once: a container without its root,
        which is mounted for each start, and a virtual machine without its
        reservation.
        """
        if (CONF.libvirt.virt_type != 'lxc'
                and holdings.holding_of(instance) is None):
            return super()._soft_reboot(instance)
        self._clean_shutdown(
            instance, CONF.libvirt.wait_soft_reboot_seconds, retry_interval=1)
        return False

    def _detach_from_live_and_wait_for_event(
            self, dev: Any, guest: libvirt_guest.Guest, instance_uuid: str,
            device_name: str) -> None:
        """See base class; what a container loses is gone at once.

        libvirt gives the devices of containers no aliases, by which Nova knows
        their events, and sends none.
        """
        if CONF.libvirt.virt_type != 'lxc':
            return super()._detach_from_live_and_wait_for_event(
                dev, guest, instance_uuid, device_name)
        return self._detach_sync(dev, guest, instance_uuid, device_name,
                                 persistent=False, live=True)

    def check_can_live_migrate_destination(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            *args: Any, **kwargs: Any) -> Any:
        """See base class; a server with a reservation is claimed for here."""
        data = super().check_can_live_migrate_destination(
            context, instance, *args, **kwargs)
        if _runs_machines() and holdings.holding_of(instance) is not None:
            live_migration.offer_claim(data)
        return data

    def check_can_live_migrate_source(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            dest_check_data: Any, block_device_info: Any = None) -> Any:
        """See base class; a container with a reservation stays.

        :raises MigrationPreCheckError: then, or if the destination offers no
            reservations; Nova leaves the server as it is
        """
        reserved = holdings.holding_of(instance) is not None
        if reserved and not _runs_machines():
            raise exception.MigrationPreCheckError(
                reason='a container cannot be migrated live: migrate it cold.')
        data = super().check_can_live_migrate_source(
            context, instance, dest_check_data, block_device_info)
        if reserved:
            live_migration.accept_claim(data)
        return data

    def post_claim_migrate_data(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            migrate_data: Any, claim: Any) -> Any:
        """See base class; the source is to know the pCPUs that are claimed here."""
        data = super().post_claim_migrate_data(context, instance, migrate_data, claim)
        live_migration.note_claim(data, instance)
        return data

    def pre_live_migration(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            block_device_info: Any, network_info: Any, disk_info: Any,
            migrate_data: Any) -> Any:
        """See base class; what the kernel would refuse is not even sent.

        :raises MigrationPreCheckError: then
        """
        if holdings.holding_of(instance) is not None:
            live_migration.try_out(self.reservations, instance, migrate_data)
        return super().pre_live_migration(
            context, instance, block_device_info, network_info, disk_info, migrate_data)

    def _live_migration_operation(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            dest: str, block_migration: bool, migrate_data: Any,
            guest: libvirt_guest.Guest, device_names: Any) -> None:
        if holdings.holding_of(instance) is not None:
            guest = live_migration.LeavingGuest(
                guest, live_migration.claimed(migrate_data))
        super()._live_migration_operation(
            context, instance, dest, block_migration, migrate_data, guest, device_names)

    def post_live_migration_at_destination(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            *args: Any, **kwargs: Any) -> None:
        """See base class; the server runs by then, with its reservation.

        :raises InstanceDeployFailure: if it cannot have it: it stays paused
        """
        self._domains.receive(instance)
        super().post_live_migration_at_destination(context, instance, *args, **kwargs)

    def is_here(self, instance: objects.Instance) -> bool:
        """Return whether a server's virtual machine is on this host.

        If it is leaving, what becomes of that is awaited.
        """
        try:
            return live_migration.has_stayed(self._host.get_guest(instance))
        except exception.InstanceNotFound:
            return False

    def migrate_disk_and_power_off(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            dest: str, flavor: objects.Flavor, network_info: Any,
            block_device_info: Any = None, timeout: int = 0,
            retry_interval: int = 0) -> str:
        """See base class; a container whose disk would stay behind stays."""
        if self._has_root_disk(block_device_info):
            root_disk.check_movable(instance)
        return super().migrate_disk_and_power_off(
            context, instance, dest, flavor, network_info, block_device_info,
            timeout, retry_interval)

    def _get_instance_disk_info(self, instance: objects.Instance,
                                block_device_info: Any) -> list[dict[str, Any]]:
        """See base class; lists a container's root as well, so it is copied."""
        disks = super()._get_instance_disk_info(instance, block_device_info)
        if self._has_root_disk(block_device_info):
            disks += root_disk.disk_info(instance)
        return disks

    def _has_root_disk(self, block_device_info: Any) -> bool:
        return (CONF.libvirt.virt_type == 'lxc'
                and not self._is_booted_from_volume(block_device_info))


def _nothing() -> None:
    """Do nothing."""


def _runs_machines() -> bool:
    return kinds.of(CONF) is kinds.Kind.MACHINE
