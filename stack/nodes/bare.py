# SPDX-License-Identifier: Apache-2.0
"""Containers with reservations on a node that has no control plane.

The compute side alone: nova-rt's placement chooses the pCPUs, its changes to
libvirt's domain start the container, and its driver's part for the kernel applies
the reservation. It is copied into the folder of the node, beside the task that uses it.
"""

from collections.abc import Callable
from collections.abc import Mapping
import pathlib
import subprocess

import libvirt
from oslo_config import cfg

from nova_rt import conf
from nova_rt import elastic
from nova_rt import fitting
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt import containers
from nova_rt.virt import domain_xml
from nova_rt.virt import this_host
from nova_rt.virt.rt_init import program

_NO_TERMS = elastic.Terms()
IMAGE = '/srv/node/busybox-hog.raw'
_DOMAIN = """\
<domain type='lxc'>
  <name>instance-{number:08x}</name>
  <memory unit='MiB'>64</memory>
  <vcpu>{vcpus}</vcpu>
  {more}
  <os><type>exe</type><init>/sbin/init</init></os>
  <devices>
    <filesystem type='mount'><source dir='{root}'/><target dir='/'/></filesystem>
    <console type='pty'/>
  </devices>
</domain>
"""


class Bare:
    """The containers of this node.

    :param cap: of a pCPU that may be reserved; nova-rt's own by default
    :ivar kernel: what holds their reservations
    :ivar holdings: what they hold, in the order in which they were started
    """

    def __init__(self, cap: float | None = None) -> None:
        options = cfg.ConfigOpts()
        options([], project='task', default_config_files=[])
        conf.register_opts(options)
        if cap is not None:
            options.set_override('cap', cap, 'rt')
        self.kernel = this_host.from_options(options)
        self._connection = libvirt.open('lxc:///')
        self._shares = self.kernel.empty
        self._domains: list[libvirt.virDomain] = []
        self.holdings: list[ledger.Holding] = []

    def start(self, wanted: reservation.Reservation, policy: reservation.InitPolicy | None = None,
              more: str = '', change: Callable[[pathlib.Path], None] | None = None,
              terms: elastic.Terms = _NO_TERMS) -> pathlib.Path:
        """Start a container with a reservation, and return where its root is.

        :param policy: that its init is started under
        :param more: elements for the domain
        :param change: changes the container's root before it starts
        :param terms: what it says beside its reservation
        """
        holding = ledger.Holding(wanted, fitting.place(self._shares, wanted), terms)
        self._shares = self._shares.add(wanted, holding.pcpus)
        number = len(self._domains)
        root = pathlib.Path(f'/var/lib/nova/root-{number}')
        root.mkdir()
        image = root.with_suffix('.raw')
        subprocess.run(('cp', IMAGE, image), check=True)
        subprocess.run(('mount', '-o', 'loop', image, root), check=True)
        if change is not None:
            change(root)
        xml = domain_xml.with_reservation(
            _DOMAIN.format(number=number, root=root, vcpus=wanted.vcpus, more=more),
            holding, str(program.BUILT), policy)
        domain = self._connection.createXML(xml)
        self._domains.append(domain)
        self.holdings.append(holding)
        self.kernel.apply(domain.ID(), holding)
        priority = domain_xml.highest_priority_in(xml)
        if priority is not None:
            self.kernel.permit(domain.ID(), priority)
        return root

    def running(self) -> Mapping[str, containers.Container]:
        """Return the containers that run, by what libvirt calls them."""
        return {domain.name(): containers.Container(domain.ID(), holding)
                for domain, holding in zip(self._domains, self.holdings, strict=True)}

    def domain(self, name: str) -> libvirt.virDomain:
        """Return libvirt's part of a container."""
        return next(each for each in self._domains if each.name() == name)

    def move(self, holding: ledger.Holding) -> None:
        """Take a vCPU of the container that was started last to another pCPU."""
        self.kernel.move(self._domains[-1].ID(), holding)
        self.holdings[-1] = holding

    def end(self) -> None:
        """End all containers, and take back what they held."""
        for domain in self._domains:
            domain.destroy()
        self.kernel.take_back_all()
