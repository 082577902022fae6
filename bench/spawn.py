# SPDX-License-Identifier: Apache-2.0
"""The time of a whole spawn, and the part of claim and application in it."""

from collections.abc import Iterator
from pathlib import Path
import re
import time
from typing import Any

import openstack

from bench import examples
from bench import measure
from bench import nova as bench_nova
from nova_rt import reservation
from nova_rt.testing import cloud as functional
from stack import prerequisites
from stack.cloud import Cloud
from stack.errors import StackError
from stack.rundir import RunDir
from stack.service import Site
from stack.services import keystone

RUN_DIR = Path(__file__).resolve().parent.parent / 'run' / 'bench'
SERVERS = 7
PATIENCE = 60.0
# Small, so that it fits beside the machine's other groups.
WANTED = reservation.Reservation(4_000, 200_000, 1)
_SPAWNED = re.compile(r'Took ([0-9.]+) seconds to spawn the instance')


def measurements(added: measure.Spread,
                 without_stack: bool) -> Iterator[measure.Measurement]:
    """Yield claim and application as a part of a spawn.

    :param added: the time of both, in µs
    :raises StackError: if the stack does not start, or a server fails
    """
    reason = 'as asked' if without_stack else prerequisites.missing_for_containers()
    if reason:
        beside, seconds = 'create to ACTIVE in functional fixtures', _fixtures()
    else:
        beside, seconds = 'spawn on the real stack', _real()
    theirs = measure.Spread.of([elapsed * 1e6 for elapsed in seconds])
    ratio = measure.Spread(
        added.median / theirs.median, added.min / theirs.max,
        added.max / theirs.min)
    yield measure.Measurement(
        'claim + apply in a spawn', 'µs', added, beside, theirs, ratio,
        notes={'servers': len(seconds), 'no real stack': reason})


def _real() -> list[float]:
    """Return the seconds of each spawn, from the log of nova-rt-compute."""
    rundir = RunDir(RUN_DIR)
    cloud = Cloud(Site(rundir))
    cloud.up()
    try:
        client = keystone.cloud(cloud.site)
        flavor = make_flavor(client.compute, 'bench')
        image = client.image.find_image('busybox', ignore_missing=False)
        for number in range(SERVERS):
            serve(client.compute, image.id, f'bench{number}', flavor)
        log = (rundir.logs / 'nova-compute.log').read_text()
    finally:
        problems = cloud.down()
    if problems:
        raise StackError(' '.join(problems))
    return [float(seconds) for seconds in _SPAWNED.findall(log)]


def make_flavor(compute: Any, name: str) -> str:
    """Create a flavor that reserves WANTED; return its id."""
    flavor = compute.create_flavor(
        name=name, vcpus=WANTED.vcpus, ram=64, disk=1)
    compute.create_flavor_extra_specs(flavor, {
        examples.RUNTIME: str(WANTED.runtime_us),
        examples.PERIOD: str(WANTED.period_us)})
    return str(flavor.id)


def serve(compute: Any, image: str, name: str, flavor: str) -> None:
    """Create a server, wait until it is active, and delete it."""
    server = compute.create_server(
        name=name, flavor_id=flavor, image_id=image, networks='none')
    try:
        compute.wait_for_server(server, interval=0.2, wait=PATIENCE)
        compute.delete_server(server)
        compute.wait_for_delete(server, interval=0.2, wait=PATIENCE)
    except openstack.exceptions.SDKException as exc:
        raise StackError(f'Server {name} failed: {exc}') from None


class _Fixtures(functional.CloudTestCase):
    """Nova's fixtures with our services on a fake driver."""

    def runTest(self) -> None:
        """Do nothing: only the fixtures are needed."""


def _fixtures() -> list[float]:
    """Return the seconds from create to ACTIVE."""
    seconds = []
    with bench_nova.running(_Fixtures) as case:
        case._start_compute('host1')
        flavor = case.make_flavor(2, vcpus=1)
        for _ in range(SERVERS):
            began = time.perf_counter()
            server = case.boot(flavor)
            seconds.append(time.perf_counter() - began)
            case._delete_server(server)
    return seconds
