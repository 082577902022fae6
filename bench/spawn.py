# SPDX-License-Identifier: Apache-2.0
"""The time of a whole spawn, and the part of claim and application in it."""

from collections.abc import Iterator
from pathlib import Path
import re
import time

from keystoneauth1 import session

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
_COMPUTE = {'endpoint_filter': {'service_type': 'compute'},
            'headers': {'OpenStack-API-Version': 'compute 2.100'}}


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
        client = keystone.connect(cloud.site)
        flavor = _flavor(client)
        for number in range(SERVERS):
            _serve(client, f'bench{number}', flavor)
        log = (rundir.logs / 'nova-compute.log').read_text()
    finally:
        problems = cloud.down()
    if problems:
        raise StackError(' '.join(problems))
    return [float(seconds) for seconds in _SPAWNED.findall(log)]


def _flavor(client: session.Session) -> str:
    created = client.post('/flavors', json={'flavor': {
        'name': 'bench', 'vcpus': WANTED.vcpus, 'ram': 64, 'disk': 1}},
        **_COMPUTE).json()['flavor']['id']
    client.post(f'/flavors/{created}/os-extra_specs', json={'extra_specs': {
        examples.RUNTIME: str(WANTED.runtime_us),
        examples.PERIOD: str(WANTED.period_us)}}, **_COMPUTE)
    return str(created)


def _serve(client: session.Session, name: str, flavor: str) -> None:
    """Create a server, wait until it is active, and delete it."""
    images = client.get('/v2/images?name=busybox', endpoint_filter={
        'service_type': 'image'}).json()['images']
    server = client.post('/servers', json={'server': {
        'name': name, 'flavorRef': flavor, 'imageRef': images[0]['id'],
        'networks': 'none'}}, **_COMPUTE).json()['server']['id']
    _wait(client, server, 'ACTIVE')
    client.delete(f'/servers/{server}', **_COMPUTE)
    _wait(client, server, '')


def _wait(client: session.Session, server: str, status: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = client.get(f'/servers/{server}', raise_exc=False, **_COMPUTE)
        state = answer.json()['server']['status'] if answer.ok else ''
        if state == status:
            return
        if state == 'ERROR':
            raise StackError(
                f'The server failed: {answer.json()["server"]["fault"]}')
        time.sleep(0.2)
    raise StackError(f'The server is {state} after {PATIENCE:.0f} s.')


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
