# SPDX-License-Identifier: Apache-2.0
"""The libvirt driver for containers with reservations."""

import errno
import threading

from nova import exception
from nova.virt import event as virtevent
from nova.virt.libvirt import driver
from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.instance import holdings
from nova_rt.virt import domain_xml
from nova_rt.virt import host
from nova_rt.virt import inventory
from nova_rt.virt import root_disk
from nova_rt.virt import vif
from nova_rt.virt.cgroup import tree as cgroup_tree
from nova_rt.virt.rt_init import program

LOG = logging.getLogger(__name__)
CONF = cfg.CONF

# How often a container is ended whose groups vanish meanwhile.
_ENDS = 5

_NOT_APPLIED = (cgroup_tree.KernelRefusalError, cgroup_tree.MissingControlFileError,
                ProcessLookupError, host.UnavailableError)


class RTLibvirtDriver(driver.LibvirtDriver):
    """Nova's libvirt driver; gives containers their reservations.

    :raises UnavailableError: if reservations are to be offered but cannot be
    """

    def __init__(self, virtapi, read_only=False):
        super().__init__(virtapi, read_only)
        if CONF.rt.hcbs_scheduler_available:
            _check_offer()
        self.reservations = host.ReservationHost.open(CONF)
        if CONF.libvirt.virt_type == 'lxc':
            self.vif_driver = vif.ContainerVIFDriver(self._host)
        # What a domain says is read and applied, or changed and applied.
        self._copies = threading.Lock()

    def init_host(self, host):
        """See base class; the kernel then holds what the containers hold."""
        if CONF.rt.hcbs_scheduler_available:
            _install_rt_init()
        super().init_host(host)
        self._reconcile()

    def get_available_resource(self, nodename):
        """See base class; what was left over is taken back as well."""
        self._reconcile()
        return super().get_available_resource(nodename)

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        """See base class; adds what Placement may promise of reservations."""
        super().update_provider_tree(provider_tree, nodename, allocations)
        inventory.offer(provider_tree, nodename, self.reservations.empty)

    def _reconcile(self):
        with self._copies:
            running = []
            for guest in self._host.list_guests():
                holding = _holding_in(guest)
                if holding is not None:
                    running.append((guest.id, holding))
            self.reservations.reconcile(running)

    def change_reservation(self, instance, holding):
        """Give a server's container another budget, whether it runs or not.

        :param holding: on the pCPUs that it has
        :raises ResizeError: if it cannot be; it has then what it had, or, if
            libvirt does not answer, what :meth:`init_host` finds
        """
        try:
            guest = self._host.get_guest(instance)
        except exception.InstanceNotFound:
            return
        with self._copies:
            try:
                _change(self.reservations, guest, holding)
            except (*_NOT_APPLIED, driver.libvirt.libvirtError) as why:
                raise exception.ResizeError(reason=str(why)) from None

    def _get_guest_xml(self, context, instance, *args, **kwargs):
        xml = super()._get_guest_xml(context, instance, *args, **kwargs)
        holding = holdings.holding_on(instance, CONF.host)
        if holding is None:
            return xml
        return domain_xml.with_reservation(
            xml, holding, str(program.on_host(CONF.instances_path)),
            reservation.init_policy(instance.flavor.extra_specs))

    def _create_guest(self, context, xml, instance, power_on=True,
                      pause=False, post_xml_callback=None):
        guest = super()._create_guest(
            context, xml, instance, power_on=power_on, pause=pause,
            post_xml_callback=post_xml_callback)
        if power_on or pause:
            self._apply(self._host.get_guest(instance), instance)
        return guest

    def _soft_reboot(self, instance):
        """Shut a container down, and leave its start to a hard reboot.

        Nova would start the domain again at once, without its root, which is
        mounted for each start: there would be no init in it.
        """
        if CONF.libvirt.virt_type != 'lxc':
            return super()._soft_reboot(instance)
        self._clean_shutdown(
            instance, CONF.libvirt.wait_soft_reboot_seconds, retry_interval=1)
        return False

    def _detach_from_live_and_wait_for_event(
            self, dev, guest, instance_uuid, device_name):
        """See base class; what a container loses is gone at once.

        libvirt gives the devices of containers no aliases, by which Nova knows
        their events, and sends none.
        """
        if CONF.libvirt.virt_type != 'lxc':
            return super()._detach_from_live_and_wait_for_event(
                dev, guest, instance_uuid, device_name)
        return self._detach_sync(dev, guest, instance_uuid, device_name,
                                 persistent=False, live=True)

    def _apply(self, guest, instance):
        """Apply a container's reservation, or stop it.

        Its init waits for the reservation, so one that cannot have it would
        wait for ever.

        :raises InstanceDeployFailure: if it cannot be applied; Nova then
            cleans up and tries the next host
        """
        holding = _holding_in(guest)
        if holding is None:
            return
        try:
            self.reservations.apply(guest.id, holding)
        except _NOT_APPLIED as why:
            LOG.error('No reservation for the container: %s', why,
                      instance=instance)
            self._destroy(instance)
            raise exception.InstanceDeployFailure(reason=str(why)) from None

    def _destroy(self, instance):
        """See base class; then nothing is left of the container's budget.

        One that shut down when Nova asked it to has no group any more.
        """
        group = self._group_of(instance)
        self._end(instance)
        if group is None:
            self.reservations.settle_all()
        else:
            self.reservations.settle(group)

    def _end(self, instance):
        """Destroy a domain, even if its groups vanish as libvirt reads them.

        libvirt kills a container's processes group by group, and on cgroup v2
        gives up when a group has gone with its last process. Nova would leave
        the server, and its reservation, for the user to delete once more.
        """
        for left in reversed(range(_ENDS)):
            try:
                return super()._destroy(instance)
            except driver.libvirt.libvirtError as why:
                if not (left and _group_is_gone(why)):
                    raise

    def migrate_disk_and_power_off(
            self, context, instance, dest, flavor, network_info,
            block_device_info=None, timeout=0, retry_interval=0):
        """See base class; a container whose disk would stay behind stays."""
        if self._has_root_disk(block_device_info):
            root_disk.check_movable(instance)
        return super().migrate_disk_and_power_off(
            context, instance, dest, flavor, network_info, block_device_info,
            timeout, retry_interval)

    def _get_instance_disk_info(self, instance, block_device_info):
        """See base class; a container's root is told too, and so copied."""
        told = super()._get_instance_disk_info(instance, block_device_info)
        if self._has_root_disk(block_device_info):
            told += root_disk.described(instance)
        return told

    def _has_root_disk(self, block_device_info):
        return (CONF.libvirt.virt_type == 'lxc'
                and not self._is_booted_from_volume(block_device_info))

    def _group_of(self, instance):
        try:
            guest = self._host.get_guest(instance)
        except exception.InstanceNotFound:
            return None
        return self.reservations.group_of(guest.id) if guest.id > 0 else None

    def emit_event(self, event):
        """See base class; what started or ended by itself is served too.

        libvirt restarts a container whose init asks for a reboot, and an
        operator may start one: the new group has no runtime yet.
        """
        if isinstance(event, virtevent.LifecycleEvent):
            if event.transition == virtevent.EVENT_LIFECYCLE_STARTED:
                self._apply_to_started(event)
            elif event.transition == virtevent.EVENT_LIFECYCLE_STOPPED:
                self.reservations.settle_all()
        super().emit_event(event)

    def _apply_to_started(self, event):
        try:
            # Nova looks a guest up by the uuid, which an event has as well.
            guest = self._host.get_guest(event)
            with self._copies:
                holding = _holding_in(guest)
                if holding is not None:
                    self.reservations.apply(guest.id, holding)
        except (exception.InstanceNotFound, *_NOT_APPLIED) as why:
            LOG.warning('The container %s started and is without its '
                        'reservation: %s', event.uuid, why)


def _group_is_gone(why) -> bool:
    # Without its folder, or without a group behind a file that was open.
    return (why.get_error_code() == driver.libvirt.VIR_ERR_SYSTEM_ERROR
            and why.get_int1() in (errno.ENOENT, errno.ENODEV))


def _holding_in(guest) -> ledger.Holding | None:
    try:
        return domain_xml.holding_in(guest.get_xml_desc())
    except driver.libvirt.libvirtError as why:
        if why.get_error_code() != driver.libvirt.VIR_ERR_NO_DOMAIN:
            raise
        return None  # Deleted since it was listed.
    except ValueError as why:
        LOG.error('The metadata of domain %s make no sense (%s): it is left '
                  'as it is.', guest.uuid, why)
        return None


def _change(reservations, guest, holding):
    """Change a container's budget and its domain's metadata, or neither."""
    before = _holding_in(guest)
    runs = guest.id > 0
    if runs:
        reservations.apply(guest.id, holding)
    flags = driver.libvirt.VIR_DOMAIN_AFFECT_CONFIG
    if runs:
        flags |= driver.libvirt.VIR_DOMAIN_AFFECT_LIVE
    try:
        guest._domain.setMetadata(
            driver.libvirt.VIR_DOMAIN_METADATA_ELEMENT,
            domain_xml.metadata(holding), domain_xml.PREFIX,
            domain_xml.NAMESPACE, flags)
    except driver.libvirt.libvirtError:
        if runs and before is not None:
            reservations.apply(guest.id, before)
        raise


def _check_offer() -> None:
    """Refuse what cannot work with reservations.

    :raises UnavailableError: with what to change
    """
    if CONF.libvirt.virt_type != 'lxc':
        raise host.UnavailableError(
            f'[libvirt] virt_type is {CONF.libvirt.virt_type}, but only '
            'containers (lxc) can have reservations: set it to lxc, or '
            '[rt] hcbs_scheduler_available=false.')
    if CONF.libvirt.uid_maps or CONF.libvirt.gid_maps:
        raise host.UnavailableError(
            '[libvirt] uid_maps and gid_maps put containers into user '
            'namespaces, where the kernel grants no real-time policy: remove '
            'them, or set [rt] hcbs_scheduler_available=false.')
    if not program.BUILT.exists():
        raise host.UnavailableError(
            f'{program.BUILT} is missing: install nova-rt again, with a C '
            'compiler and a static C library at hand.')


def _install_rt_init() -> None:
    try:
        program.install(CONF.instances_path)
    except OSError as why:
        raise host.UnavailableError(
            f'rt-init, with which containers start, cannot be put below '
            f'[DEFAULT] instances_path ({why}): see that there is room, and '
            'that the file system is mounted without noexec.') from None
