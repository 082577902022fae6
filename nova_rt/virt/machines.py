# SPDX-License-Identifier: Apache-2.0
"""Finds the threads that run the vCPUs of libvirt's virtual machines."""

from __future__ import annotations

from collections.abc import Callable
import json

import libvirt

from nova_rt.virt import connection
from nova_rt.virt import domain_xml
from nova_rt.virt.deadline import errors

_INCOMING = (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_MIGRATION)
_QUERY = json.dumps({'execute': 'query-cpus-fast'})


class MonitorError(errors.DeadlineError):
    """QEMU does not say which threads run vCPUs; the message says what to do."""


def connect(uri: str) -> libvirt.virConnect:
    """Return a connection to libvirt.

    :raises MonitorError: if it does not answer
    """
    try:
        return connection.connect(uri)
    except libvirt.libvirtError as exc:
        raise MonitorError(
            f'libvirt does not answer at {uri} ({exc}): start libvirtd, and run this on '
            'the compute host.') from None


class Machines:
    """The virtual machines of one libvirt.

    QEMU's monitor is asked, as it alone knows which thread runs which vCPU, whatever
    control groups there are. libvirt marks a domain that was asked so as tainted by
    ``custom-monitor``, which changes nothing else.

    :param connect: returns a connection to libvirt, not a read-only one
    """

    def __init__(self, connect: Callable[[], libvirt.virConnect]) -> None:
        self._connect = connect

    def threads_of(self, number: int) -> tuple[int, ...]:
        """Return the threads of a virtual machine's vCPUs, in the vCPUs' order.

        :param number: libvirt's id of the domain
        :raises ProcessLookupError: if it has ended
        :raises MigratingError: while it is on its way here by live migration
        :raises MonitorError: if QEMU does not answer
        """
        # Not at the top: libvirt-python has it only where libvirt has QEMU's driver.
        import libvirt_qemu  # type: ignore[import-untyped]  # it has no stubs

        try:
            domain = self._connect().lookupByID(number)
            # libvirt would let the question wait until the migration has ended.
            if _is_on_its_way(domain):
                raise errors.MigratingError(
                    f'Domain {number} has not arrived yet: its vCPUs wait.')
            answer = json.loads(libvirt_qemu.qemuMonitorCommand(domain, _QUERY, 0))
            vcpus = sorted((vcpu['cpu-index'], vcpu['thread-id'])
                           for vcpu in answer['return'])
        except libvirt.libvirtError as exc:
            if exc.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
                raise _ended(number) from None
            raise _silent(number, str(exc)) from None
        except (KeyError, ValueError) as exc:
            raise _silent(number, f'{type(exc).__name__}: {exc}') from None
        return tuple(thread for _, thread in vcpus)

    def pin(self, number: int, vcpu: int, pcpu: int) -> None:
        """Let a running virtual machine's vCPU run on one pCPU only, now and when it starts.

        :param number: libvirt's id of the domain
        :raises ProcessLookupError: if it has ended
        :raises MonitorError: if libvirt refuses, or does not answer
        """
        cpumap = tuple(cpu == pcpu for cpu in range(pcpu + 1))
        try:
            self._connect().lookupByID(number).pinVcpuFlags(
                vcpu, cpumap, libvirt.VIR_DOMAIN_AFFECT_LIVE | libvirt.VIR_DOMAIN_AFFECT_CONFIG)
        except libvirt.libvirtError as exc:
            if exc.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
                raise _ended(number) from None
            raise MonitorError(
                f'libvirt does not pin vCPU {vcpu} of domain {number} to pCPU {pcpu} '
                f'({exc}): see its log.') from None


def _ended(number: int) -> ProcessLookupError:
    return ProcessLookupError(
        f'There is no domain {number}: its virtual machine has ended.')


def _is_on_its_way(domain: libvirt.virDomain) -> bool:
    # So is one that libvirt has restored from its saved memory, but that has no mark.
    return (tuple(domain.state()) == _INCOMING
            and domain_xml.arrives_from(domain.XMLDesc(0)) is not None)


def _silent(number: int, reason: str) -> MonitorError:
    return MonitorError(
        f'QEMU does not say which threads run the vCPUs of domain {number} ({reason}): '
        'see that its process answers, or restart its server.')
