# SPDX-License-Identifier: Apache-2.0
"""How a virtual machine starts: paused, until it has its reservation."""

from __future__ import annotations

from lxml import etree
from nova import exception
from nova import objects
from nova.virt.libvirt import guest as libvirt_guest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt import domain_xml
from nova_rt.virt import domains
from nova_rt.virt import jobs_port


def domain(xml: str, holding: ledger.Holding, instance: objects.Instance,
           hears: bool) -> str:
    """Return a virtual machine's domain with its reservation.

    :param xml: the domain as Nova writes it
    :param hears: whether this host hears of misses, so that it has a port to tell of them
    :raises InstanceDeployFailure: if the server asks for what contradicts it
    """
    if reservation.init_policy(instance.flavor.extra_specs) is not None:
        raise exception.InstanceDeployFailure(
            reason='hw:cpu.rt_policy is for containers, whose init it is, but this host '
                   'runs virtual machines: remove it from the flavor.')
    try:
        pinned = domain_xml.with_pinned_vcpus(xml, holding)
    except domain_xml.ContradictionError as exc:
        raise exception.InstanceDeployFailure(reason=str(exc)) from None
    return jobs_port.with_port(pinned) if hears else pinned


def must_wait(xml: str) -> bool:
    """Return whether a domain is a virtual machine with a reservation."""
    return (etree.fromstring(xml).get('type') != 'lxc'
            and domain_xml.holding_in(xml) is not None)


class WaitingGuest(libvirt_guest.Guest):
    """A domain whose launch ends when its server has its reservation.

    Nova launches a virtual machine itself after a snapshot that is not live.
    """

    def __init__(self, guest: libvirt_guest.Guest, instance: objects.Instance,
                 reservations: domains.DomainReservations) -> None:
        super().__init__(guest._domain)
        self._instance = instance
        self._reservations = reservations

    def launch(self, pause: bool = False) -> None:
        """See base class; a virtual machine that cannot have it is saved again.

        :raises InstanceDeployFailure: then
        """
        waits = must_wait(self.get_xml_desc())
        super().launch(pause=pause or waits)
        if not waits:
            return
        try:
            self._reservations.apply(self._instance)
        except exception.InstanceDeployFailure:
            self.save_memory_state()
            raise
        if not pause:
            self.resume()
