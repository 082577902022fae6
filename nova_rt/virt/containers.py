# SPDX-License-Identifier: Apache-2.0
"""The containers and virtual machines that libvirt runs on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import pathlib

import libvirt
from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import errors
from nova_rt import ledger
from nova_rt.virt import connection
from nova_rt.virt import domain_xml
from nova_rt.virt import jobs_port
from nova_rt.virt import kinds
from nova_rt.virt import procfs

LOG = logging.getLogger(__name__)


class UnreachableError(errors.NovaRTError):
    """libvirt does not answer; the message says what to do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Container:
    """A running container, or a virtual machine.

    :ivar pid: libvirt's id of it, which is a container's controller
    :ivar copy: what its domain's metadata say that it holds
    :ivar port: the socket by which a virtual machine tells of its jobs; None without one
    """

    pid: int
    copy: ledger.Holding | None = None
    port: str | None = None


def running(conf: cfg.ConfigOpts) -> Mapping[str, Container]:
    """Return the running containers or virtual machines, by server.

    :raises UnreachableError: if libvirt does not answer
    """
    with _connection(conf) as reader:
        found = {}
        for domain in reader.listAllDomains(libvirt.VIR_CONNECT_LIST_DOMAINS_ACTIVE):
            try:
                found[domain.UUIDString()] = _of(domain)
            except libvirt.libvirtError as exc:
                # Ended since it was listed.
                if exc.get_error_code() != libvirt.VIR_ERR_NO_DOMAIN:
                    raise
        return found


def first_process(number: int) -> int:
    """Return the process that is a container's init.

    :param number: libvirt's id of the container, which is its controller
    :raises ProcessLookupError: if it has ended, or its processes cannot be seen from here
    """
    try:
        children = list(map(int, pathlib.Path(
            f'/proc/{number}/task/{number}/children').read_text().split()))
    except OSError:
        # It has ended, or the kernel was built without CONFIG_PROC_CHILDREN.
        children = _children(number)
    if not children:
        raise ProcessLookupError(f'Process {number} has no child: its container has ended.')
    return children[0]


def _children(number: int) -> list[int]:
    """Return the children of a process, by what each process of the host says."""
    found = []
    for process in procfs.PROC.glob('[0-9]*'):
        # Some end meanwhile.
        with contextlib.suppress(OSError):
            if procfs.state_and_parent(process)[1] == number:
                found.append(int(process.name))
    return sorted(found)


def described(conf: cfg.ConfigOpts) -> list[str]:
    """Return the servers whose domains have metadata of ours, also if they do not run.

    :raises UnreachableError: if libvirt does not answer
    """
    with _connection(conf) as reader:
        return sorted(domain.UUIDString() for domain in reader.listAllDomains()
                      if domain_xml.NAMESPACE in domain.XMLDesc())


@contextlib.contextmanager
def _connection(conf: cfg.ConfigOpts) -> Iterator[libvirt.virConnect]:
    """Connect to libvirt, to read.

    :raises UnreachableError: if it does not answer
    """
    uri = kinds.uri(conf)
    try:
        reader = connection.connect(uri, read_only=True)
        try:
            yield reader
        finally:
            reader.close()
    except libvirt.libvirtError as exc:
        raise UnreachableError(
            f'libvirt does not answer at {uri} ({exc}): start libvirtd, and '
            'run this on the compute host.') from None


def _of(domain: libvirt.virDomain) -> Container:
    xml = domain.XMLDesc()
    return Container(domain.ID(), _copy(domain, xml), jobs_port.path_in(xml))


def _copy(domain: libvirt.virDomain, xml: str) -> ledger.Holding | None:
    try:
        return domain_xml.holding_in(xml)
    except ValueError as exc:
        LOG.warning('The metadata of domain %s are not valid: %s',
                    domain.UUIDString(), exc)
        return None
