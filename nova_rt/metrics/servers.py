# SPDX-License-Identifier: Apache-2.0
"""The servers with reservations that libvirt runs on this machine."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses

import libvirt
from lxml import etree
from oslo_log import log as logging

from nova_rt import ledger
from nova_rt.virt import containers
from nova_rt.virt import domain_xml

LOG = logging.getLogger(__name__)

# They have ended, or hold nothing.
_NOTHING = (libvirt.VIR_ERR_NO_DOMAIN, libvirt.VIR_ERR_NO_DOMAIN_METADATA)


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A running server with a reservation.

    :ivar uuid: Nova's, and its domain's
    :ivar project: whose it is; empty if its domain does not say
    :ivar number: libvirt's id of its domain
    """

    uuid: str
    project: str
    number: int
    holding: ledger.Holding


class Servers:
    """What runs here, by a connection that is kept from one look to the next.

    :param connect: returns a connection to libvirt
    """

    def __init__(self, connect: Callable[[], libvirt.virConnect]) -> None:
        self._connect = connect
        self._connection: libvirt.virConnect | None = None
        # By server: a server has the same for as long as it lives.
        self._projects: dict[str, str] = {}

    def running(self) -> list[Server]:
        """Return the running servers with reservations, by uuid.

        :raises UnreachableError: if libvirt does not answer
        """
        try:
            if self._connection is None:
                self._connection = self._connect()
            found = [server for domain in self._connection.listAllDomains(
                         libvirt.VIR_CONNECT_LIST_DOMAINS_ACTIVE)
                     if (server := self._of_domain(domain)) is not None]
        except libvirt.libvirtError as exc:
            self._connection = None
            raise containers.UnreachableError(
                f'libvirt does not answer ({exc}): start libvirtd, and run this on the '
                'compute host.') from None
        self._projects = {server.uuid: server.project for server in found}
        return sorted(found, key=lambda server: server.uuid)

    def _of_domain(self, domain: libvirt.virDomain) -> Server | None:
        uuid = domain.UUIDString()
        try:
            # Much less than the whole domain, of which there may be hundreds.
            holding = domain_xml.holding_of(domain.metadata(
                libvirt.VIR_DOMAIN_METADATA_ELEMENT, domain_xml.NAMESPACE))
            if uuid not in self._projects:
                self._projects[uuid] = _project_in(domain.XMLDesc())
        except libvirt.libvirtError as exc:
            if exc.get_error_code() in _NOTHING:
                return None
            raise
        except ValueError as exc:
            LOG.warning('The metadata of domain %s are not valid: %s', uuid, exc)
            return None
        return Server(uuid, self._projects[uuid], domain.ID(), holding)


def _project_in(xml: str) -> str:
    """Return the project in Nova's own metadata (LibvirtConfigGuestMetaNovaOwner)."""
    owner = etree.fromstring(xml).find('metadata/{*}instance/{*}owner/{*}project')
    return '' if owner is None else owner.get('uuid', '')
