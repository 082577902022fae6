# SPDX-License-Identifier: Apache-2.0
"""How a virtual machine keeps its reservation while it is migrated live.

Nova has the destination claim for servers with a NUMA topology only, and tells the
source what was claimed; here it does so for servers with a reservation. The
virtual machine keeps the one on its source until it stops there. It arrives paused
and marked, and the destination resumes it when its vCPUs have the other one, see
:meth:`nova_rt.virt.domains.DomainReservations.receive`.
"""

from __future__ import annotations

from collections.abc import Sequence
import time
from typing import Any

import libvirt
from nova import exception
from nova import objects
from nova.virt.libvirt import guest as libvirt_guest

from nova_rt import errors
from nova_rt import ledger
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.virt import domain_xml
from nova_rt.virt import host

_PATIENCE_S = 60
# What would take bandwidth from the guest on its source, or let it run on its
# destination before nova-rt knows.
_WITHOUT = libvirt.VIR_MIGRATE_AUTO_CONVERGE | libvirt.VIR_MIGRATE_POSTCOPY


def offer_claim(data: Any) -> None:
    """Have Nova claim on this destination for the server.

    :param data: Nova's LibvirtLiveMigrateData, on its way to the source
    """
    data.dst_supports_numa_live_migration = True


def accept_claim(data: Any) -> None:
    """Have Nova claim on the destination, if that has offered it.

    :param data: Nova's LibvirtLiveMigrateData, on its way back to the destination
    :raises MigrationPreCheckError: if the destination has not
    """
    if not ('dst_supports_numa_live_migration' in data
            and data.dst_supports_numa_live_migration):
        raise exception.MigrationPreCheckError(
            reason='the destination offers no reservations for virtual machines: '
                   'choose a host that runs nova-rt-compute.')
    data.src_supports_numa_live_migration = True


def note_claim(data: Any, instance: objects.Instance) -> None:
    """Tell the source which pCPUs the server has on its destination.

    :param data: Nova's LibvirtLiveMigrateData
    :param instance: as the claim has left it
    """
    holding = holdings.holding_of(instance, prefix=holdings.NEW)
    if holding is not None:
        # No pins of memory and emulator, without which Nova leaves the domain alone.
        data.dst_numa_info = objects.LibvirtLiveMigrateNUMAInfo(cpu_pins={
            str(vcpu): {pcpu} for vcpu, pcpu in enumerate(sorted(holding.pcpus))})


def claimed(data: Any) -> tuple[int, ...]:
    """Return the pCPUs that the server has on its destination.

    :param data: Nova's LibvirtLiveMigrateData
    :raises MigrationPreCheckError: if nothing has been claimed there
    """
    if 'dst_numa_info' not in data or 'cpu_pins' not in data.dst_numa_info:
        raise exception.MigrationPreCheckError(
            reason='the destination has claimed no pCPUs: see that all computes speak '
                   'the same version ([upgrade_levels] compute).')
    return tuple(sorted(
        pcpu for pcpus in data.dst_numa_info.cpu_pins.values() for pcpu in pcpus))


def try_out(reservations: host.Host, instance: objects.Instance, data: Any) -> None:
    """Find out whether this destination's kernel would admit the reservation.

    :param data: Nova's LibvirtLiveMigrateData
    :raises MigrationPreCheckError: if not
    """
    wanted = flavors.reservation_of(instance.flavor)
    if wanted is None:
        return
    try:
        reservations.try_out(ledger.Holding(wanted, claimed(data)))
    except errors.NovaRTError as exc:
        raise exception.MigrationPreCheckError(reason=str(exc)) from None


def has_stayed(guest: libvirt_guest.Guest) -> bool:
    """Wait until a domain is no longer on its way; return whether it is still here.

    :raises InternalError: if it is on its way for too long
    """
    end = time.monotonic() + _PATIENCE_S
    try:
        while guest._domain.jobInfo()[0] != libvirt.VIR_DOMAIN_JOB_NONE:
            if time.monotonic() > end:
                raise exception.InternalError(
                    f'libvirt has not ended the migration of domain {guest.uuid} within '
                    f'{_PATIENCE_S} s.')
            time.sleep(0.1)
    except libvirt.libvirtError as exc:
        # One that does not run has no jobs.
        stopped: bool = exc.get_error_code() == libvirt.VIR_ERR_OPERATION_INVALID
        if not stopped and exc.get_error_code() != libvirt.VIR_ERR_NO_DOMAIN:
            raise
        return stopped
    return True


class LeavingGuest(libvirt_guest.Guest):
    """A domain that is to have its reservation wherever it runs.

    :param pcpus: those of the destination
    """

    def __init__(self, guest: libvirt_guest.Guest, pcpus: Sequence[int]) -> None:
        super().__init__(guest._domain)
        self._pcpus = pcpus

    def migrate(self, destination: str, *, destination_xml: str, flags: int = 0,
                **kwargs: Any) -> None:
        """See base class; it arrives paused, to be resumed there if it runs here.

        It neither converges automatically, as QEMU would take CPU time from it then, nor
        runs on the destination before all of its memory is there.
        """
        paused = self._domain.state()[0] == libvirt.VIR_DOMAIN_PAUSED
        super().migrate(
            destination, flags=(flags | libvirt.VIR_MIGRATE_PAUSED) & ~_WITHOUT,
            destination_xml=domain_xml.for_destination(
                destination_xml, self._pcpus,
                domain_xml.PAUSED if paused else domain_xml.RUNNING), **kwargs)
