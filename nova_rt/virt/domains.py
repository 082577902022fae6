# SPDX-License-Identifier: Apache-2.0
"""Gives servers what their libvirt domains say that they hold."""

from __future__ import annotations

from collections.abc import Mapping
import threading

from nova import exception
from nova import objects
from nova.virt import event as virtevent
from nova.virt.libvirt import driver
from nova.virt.libvirt import guest as libvirt_guest
from nova.virt.libvirt import host as libvirt_host
from oslo_log import log as logging

from nova_rt import ledger
from nova_rt import usage
from nova_rt.virt import domain_xml
from nova_rt.virt import host
from nova_rt.virt.cgroup import errors
from nova_rt.virt.deadline import errors as deadline_errors

LOG = logging.getLogger(__name__)

_NOT_APPLIED = (errors.CgroupError, deadline_errors.DeadlineError,
                ProcessLookupError, host.UnavailableError)


class DomainReservations:
    """Keeps the kernel in line with the domains of one libvirt.

    :param connection: Nova's to libvirt
    :param reservations: the host that libvirt runs on
    """

    def __init__(self, connection: libvirt_host.Host,
                 reservations: host.Host) -> None:
        self._connection = connection
        self._reservations = reservations
        # What a domain says is read and applied, or changed and applied.
        self._lock = threading.Lock()

    def reconcile(self) -> None:
        """Make the kernel hold what the running servers hold, no more."""
        with self._lock:
            running = [
                (guest, *described) for guest in self._connection.list_guests()
                if (described := _described(guest)) is not None]
            self._reservations.reconcile(
                [(guest.id, holding) for guest, holding, _ in running])
            for guest, _, xml in running:
                try:
                    self._permit(guest.id, xml)
                except errors.CgroupError as exc:
                    LOG.error('A container cannot use its reservation: %s', exc)
                self._receive_or_log(guest)

    def apply(self, instance: objects.Instance) -> None:
        """Apply the reservation of a server that Nova has just started.

        :raises InstanceDeployFailure: if it cannot be applied
        """
        guest = self._connection.get_guest(instance)
        try:
            with self._lock:
                self._apply(guest)
        except _NOT_APPLIED as exc:
            LOG.error('No reservation for the server: %s', exc,
                      instance=instance)
            raise exception.InstanceDeployFailure(reason=str(exc)) from None

    def apply_after_event(self, event: virtevent.LifecycleEvent) -> None:
        """Apply the reservation of a server that started, by itself or not.

        One that cannot have it is logged.
        """
        try:
            # Nova looks a guest up by the uuid, which an event has as well.
            guest = self._connection.get_guest(event)
            with self._lock:
                self._apply(guest)
        except deadline_errors.MigratingError as exc:
            LOG.debug('The server %s: %s', event.uuid, exc)
        except (exception.InstanceNotFound, *_NOT_APPLIED) as exc:
            LOG.warning('The server %s has started without its '
                        'reservation: %s', event.uuid, exc)

    def receive(self, instance: objects.Instance) -> None:
        """Let a virtual machine that has arrived by live migration run.

        It arrives paused, if it ran before, and is resumed when it has its reservation.

        :raises InstanceDeployFailure: if it cannot have it; it stays paused
        """
        try:
            with self._lock:
                self._receive(self._connection.get_guest(instance))
        except (exception.InstanceNotFound, *_NOT_APPLIED,
                driver.libvirt.libvirtError) as exc:
            raise exception.InstanceDeployFailure(
                reason=f'It has arrived, but stays paused: {exc}') from None

    def receive_after_event(self, event: virtevent.LifecycleEvent) -> None:
        """Let a virtual machine run that has arrived by live migration, if it has.

        One that cannot have its reservation is logged, and stays paused.
        """
        try:
            # Nova looks a guest up by the uuid, which an event has as well.
            guest = self._connection.get_guest(event)
        except exception.InstanceNotFound:
            return
        with self._lock:
            self._receive_or_log(guest)

    def _receive_or_log(self, guest: libvirt_guest.Guest) -> None:
        try:
            self._receive(guest)
        except deadline_errors.MigratingError as exc:
            LOG.debug('The server %s: %s', guest.uuid, exc)
        except (*_NOT_APPLIED, driver.libvirt.libvirtError) as exc:
            LOG.error('The server %s has arrived, but stays paused: %s',
                      guest.uuid, exc)

    def _receive(self, guest: libvirt_guest.Guest) -> None:
        described = _described(guest)
        if described is None:
            return
        holding, xml = described
        left = domain_xml.arrives_from(xml)
        if left is None:
            return
        self._reservations.apply(guest.id, holding)
        paused = guest._domain.state()[0] == driver.libvirt.VIR_DOMAIN_PAUSED
        if paused and left == domain_xml.RUNNING:
            guest.resume()
        # Without the mark.
        _set_metadata(guest, holding, runs=True)

    def _apply(self, guest: libvirt_guest.Guest) -> None:
        described = _described(guest)
        if described is not None:
            holding, xml = described
            self._reservations.apply(guest.id, holding)
            self._permit(guest.id, xml)

    def _permit(self, number: int, xml: str) -> None:
        """Let a container's processes choose real-time policies."""
        priority = domain_xml.highest_priority_in(xml)
        if priority is not None:
            self._reservations.permit(number, priority)

    def change(self, instance: objects.Instance, holding: ledger.Holding) -> None:
        """Give a server another budget, whether it runs or not.

        :param holding: on the pCPUs that it has
        :raises ResizeError: if it cannot have it; it has then what it had, or, if
            libvirt does not answer, what :meth:`reconcile` finds
        """
        guest = self._guest_of(instance)
        if guest is None:
            return
        with self._lock:
            try:
                self._change(guest, holding)
            except (*_NOT_APPLIED, driver.libvirt.libvirtError) as exc:
                raise exception.ResizeError(reason=str(exc)) from None

    def _change(self, guest: libvirt_guest.Guest, holding: ledger.Holding) -> None:
        """Change a server's budget and its domain's metadata, or neither."""
        before = holding_in(guest)
        runs = guest.id > 0
        if runs:
            self._reservations.apply(guest.id, holding)
        try:
            _set_metadata(guest, holding, runs)
        except driver.libvirt.libvirtError:
            if runs and before is not None:
                self._reservations.apply(guest.id, before)
            raise

    def move(self, instance: objects.Instance, holding: ledger.Holding) -> None:
        """Take a vCPU of a server to another pCPU, whether it runs or not.

        :param holding: what the server has afterwards, or, to take back what failed
            halfway, what it had
        :raises MigrationError: if that is not possible; call this again with what the
            server had
        """
        guest = self._guest_of(instance)
        if guest is None:
            return
        with self._lock:
            try:
                runs = guest.id > 0
                if runs:
                    self._reservations.move(guest.id, holding)
                _set_metadata(guest, holding, runs)
            except (*_NOT_APPLIED, driver.libvirt.libvirtError) as exc:
                raise exception.MigrationError(reason=str(exc).removesuffix('.')) from None

    def usage(self, instance: objects.Instance) -> Mapping[int, usage.Usage]:
        """Return what the kernel has given to a server, by pCPU; nothing unless it runs.

        :raises libvirtError: if libvirt does not answer
        """
        guest = self._guest_of(instance)
        if guest is None or guest.id <= 0:
            return {}
        holding = holding_in(guest)
        if holding is None:
            return {}
        return self._reservations.usages(
            {instance.uuid: (guest.id, holding)}).get(instance.uuid, {})

    def group_of(self, instance: objects.Instance) -> str | None:
        """Return the control group of a container, None unless it runs."""
        guest = self._guest_of(instance)
        if guest is None or guest.id <= 0:
            return None
        return self._reservations.group_of(guest.id)

    def _guest_of(self, instance: objects.Instance) -> libvirt_guest.Guest | None:
        """Return a server's domain, whether it runs or not; None if there is none here."""
        try:
            return self._connection.get_guest(instance)
        except exception.InstanceNotFound:
            return None

    def take_back(self, group: str | None) -> None:
        """Take back what is left of an ended server's budget.

        :param group: the one that it had; None, if that is not known, for all
            that no running server needs
        """
        if group is None:
            self._reservations.take_back_all()
        else:
            self._reservations.take_back(group)


def holding_in(guest: libvirt_guest.Guest) -> ledger.Holding | None:
    """Return what a domain says that it holds, None if it holds nothing.

    :raises libvirtError: if libvirt does not answer
    """
    described = _described(guest)
    return None if described is None else described[0]


def _described(guest: libvirt_guest.Guest) -> tuple[ledger.Holding, str] | None:
    """Return what a domain says that it holds, and the domain; None if it holds nothing.

    :raises libvirtError: if libvirt does not answer
    """
    try:
        xml = guest.get_xml_desc()
        holding = domain_xml.holding_in(xml)
    except driver.libvirt.libvirtError as exc:
        if exc.get_error_code() != driver.libvirt.VIR_ERR_NO_DOMAIN:
            raise
        return None  # Deleted since it was listed.
    except ValueError as exc:
        LOG.error('The metadata of domain %s are not valid (%s): it is left '
                  'as it is.', guest.uuid, exc)
        return None
    return None if holding is None else (holding, xml)


def _set_metadata(guest: libvirt_guest.Guest, holding: ledger.Holding,
                  runs: bool) -> None:
    flags = driver.libvirt.VIR_DOMAIN_AFFECT_CONFIG
    if runs:
        flags |= driver.libvirt.VIR_DOMAIN_AFFECT_LIVE
    guest._domain.setMetadata(
        driver.libvirt.VIR_DOMAIN_METADATA_ELEMENT,
        domain_xml.metadata(holding), domain_xml.PREFIX,
        domain_xml.NAMESPACE, flags)
