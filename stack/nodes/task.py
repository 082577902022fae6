#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The containers of the paper on a node without a control plane, as JSON.

The compute side alone: nova-rt's placement chooses the pCPUs, its changes to
libvirt's domain start the container, its driver's part for the kernel applies
the reservation, and ``look.py``, which lies beside this program in the node's
folder, measures. The last line printed begins with RESULT.
"""

import json
import pathlib
import subprocess
import time

import libvirt
from look import Measured  # type: ignore[import-not-found]  # beside it on the node
from oslo_config import cfg

from nova_rt import conf
from nova_rt import fitting
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt import domain_xml
from nova_rt.virt import this_host
from nova_rt.virt.rt_init import program

# Short: a window that begins within a period has up to half of one more or less.
PERIOD_US = 20_000
# Percent of each vCPU, and vCPUs: figure 5 of the OpenStack paper.
ASKED = ((50, 2), (30, 1), (40, 3))
SECONDS = 20.0  # whole periods
SETTLED = 2.0  # seconds until every hog runs
IMAGE = '/srv/node/busybox-hog.raw'
DOMAIN = """\
<domain type='lxc'>
  <name>instance-{number:08x}</name>
  <memory unit='MiB'>64</memory>
  <vcpu>{vcpus}</vcpu>
  <os><type>exe</type><init>/sbin/init</init></os>
  <devices>
    <filesystem type='mount'><source dir='{root}'/><target dir='/'/></filesystem>
    <console type='pty'/>
  </devices>
</domain>
"""


def main() -> None:
    """Start the containers, measure what they get, end them and print the result."""
    options = cfg.ConfigOpts()
    options([], project='task', default_config_files=[])
    conf.register_opts(options)
    kernel = this_host.from_options(options)
    connection = libvirt.open('lxc:///')
    shares = kernel.empty
    domains = []
    for number, (percent, vcpus) in enumerate(ASKED):
        wanted = reservation.Reservation(
            PERIOD_US * percent // 100, PERIOD_US, vcpus)
        holding = ledger.Holding(wanted, fitting.place(shares, wanted))
        shares = shares.add(wanted, holding.pcpus)
        domains.append(_start(connection, number, holding))
        kernel.apply(domains[-1].ID(), holding)
    time.sleep(SETTLED)
    containers = Measured(SECONDS).containers
    for domain in domains:
        domain.destroy()
    kernel.take_back_all()
    print('\nRESULT', json.dumps(containers), flush=True)


def _start(connection: libvirt.virConnect, number: int,
           holding: ledger.Holding) -> libvirt.virDomain:
    """Start a container; its init waits for the reservation."""
    root = pathlib.Path(f'/var/lib/nova/root-{number}')
    root.mkdir()
    image = root.with_suffix('.raw')
    subprocess.run(('cp', IMAGE, image), check=True)
    subprocess.run(('mount', '-o', 'loop', image, root), check=True)
    return connection.createXML(domain_xml.with_reservation(
        DOMAIN.format(number=number, root=root, vcpus=len(holding.pcpus)),
        holding, str(program.BUILT), None))


if __name__ == '__main__':
    main()
