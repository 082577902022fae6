# SPDX-License-Identifier: Apache-2.0
"""A scrape of nova-rt-exporter on a full host.

libvirt's daemon is real, and so are the threads, which only sleep, and the request by HTTP.
The domains are those of libvirt's own stand-in for a hypervisor: no machine could run so
many here.
"""

from collections.abc import Iterator
import contextlib
import http.client
import os
from pathlib import Path
import subprocess
import tempfile
import time
import uuid

import libvirt
import prometheus_client

from bench import measure
from bench import vcpu_threads
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.metrics import collector
from nova_rt.metrics import jobs
from nova_rt.metrics import servers
from nova_rt.reaction import counts
from nova_rt.virt import domain_xml
from nova_rt.virt import machine_host
from nova_rt.virt.deadline import scheduler
from stack import libvirt_files

SERVERS = 200
PCPUS = 64
ROUNDS = 40
MS = 1e3
WANTED = reservation.Reservation(10_000, 100_000, 2)
PATIENCE_S = 30.0
_DOMAIN = """\
<domain type='test'>
  <name>instance-{number:08x}</name>
  <uuid>{uuid}</uuid>
  <memory unit='MiB'>64</memory>
  <vcpu>{vcpus}</vcpu>
  <os><type>hvm</type></os>
</domain>
"""


def measurements() -> Iterator[measure.Measurement]:
    """Yield the time of a scrape; nothing without root."""
    if os.geteuid():
        return
    registry = prometheus_client.CollectorRegistry()
    with (tempfile.TemporaryDirectory() as folder, _libvirt(Path(folder)) as uri,
          vcpu_threads.sleeping(SERVERS * WANTED.vcpus) as threads):
        first = _fill(uri)
        host = machine_host.MachineHost(
            scheduler.Scheduler(), shares.HostShares.empty((1,) * PCPUS),
            lambda number: threads[(number - first) * WANTED.vcpus:][:WANTED.vcpus])
        registry.register(collector.Reservations(
            host, servers.Servers(lambda: libvirt.openReadOnly(uri)), jobs.of_machine,
            counts.counted))
        server, thread = prometheus_client.start_http_server(0, '127.0.0.1', registry)
        port = server.server_port
        try:
            # QEMU is asked for its threads only once.
            series = _scrape(port)
            seconds = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                _scrape(port)
                seconds.append(time.perf_counter() - began)
        finally:
            server.shutdown()
            thread.join()
    took = measure.Spread.of([elapsed * MS for elapsed in seconds])
    yield measure.Measurement(
        f'scrape, {SERVERS} virtual machines', 'ms', took,
        aims=(measure.Aim('under 50 ms', took.median < 50),),
        notes={'series': series, 'domains': "of libvirt's test driver"})


def _scrape(port: int) -> int:
    """Return how many samples there are."""
    connection = http.client.HTTPConnection('127.0.0.1', port)
    connection.request('GET', '/metrics')
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return sum(not line.startswith('#') for line in lines)


def _fill(uri: str) -> int:
    """Start all domains; return libvirt's id of the first."""
    connection = libvirt.open(uri)
    try:
        # Its own, which holds nothing.
        connection.lookupByName('test').destroy()
        numbers: list[int] = []
        for number in range(SERVERS):
            domain = connection.createXML(_DOMAIN.format(
                number=number, uuid=uuid.uuid4(), vcpus=WANTED.vcpus))
            holding = ledger.Holding(WANTED, (number % PCPUS, (number + 1) % PCPUS))
            domain.setMetadata(
                libvirt.VIR_DOMAIN_METADATA_ELEMENT, domain_xml.metadata(holding),
                domain_xml.PREFIX, domain_xml.NAMESPACE, libvirt.VIR_DOMAIN_AFFECT_LIVE)
            numbers.append(domain.ID())
        return numbers[0]
    finally:
        connection.close()


@contextlib.contextmanager
def _libvirt(folder: Path) -> Iterator[str]:
    """Run a daemon of our own, and yield the address of its stand-in.

    :raises RuntimeError: if it does not answer
    """
    libvirt_files.prepare(folder, machines=False)
    # Without any hypervisor.
    drivers = libvirt_files.link_drivers(folder, ())
    start = '\n'.join((*libvirt_files.mounts(folder, machines=False), 'exec libvirtd'))
    uri = f'test+unix:///default?socket={libvirt_files.socket(folder)}'
    with open(folder / 'log', 'wb') as log, subprocess.Popen(
            ('unshare', '--mount', 'sh', '-ec', start), stderr=log,
            env={**os.environ, 'LIBVIRT_DRIVER_DIR': str(drivers)}) as daemon:
        try:
            keeps = _connection(uri)
            yield uri
            keeps.close()
        finally:
            daemon.terminate()


def _connection(uri: str) -> libvirt.virConnect:
    """Return a connection, while which is open the domains stay."""
    libvirt.registerErrorHandler(lambda context, error: None, None)
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return libvirt.open(uri)
        except libvirt.libvirtError as exc:
            if time.monotonic() > end:
                raise RuntimeError(f'libvirtd does not answer: {exc}') from None
            time.sleep(0.1)
