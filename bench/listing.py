# SPDX-License-Identifier: Apache-2.0
"""Lists of a cloud of 1,000 hosts by the openstack shell, beside Nova's own lists.

Shell, Keystone, nova-api under uWSGI and MariaDB are real. So is one host and one server
on it; the others are rows copied from theirs. All times are wall-clock times of whole
commands, and of the requests alone, made by one client that has its token. The shell is
that of an operator's desk, with nova-rt and no other plug-in: it reads all that are installed
at each command, and the environment of the tests has those of a dozen services.
"""

from collections.abc import Iterator
import functools
import os
from pathlib import Path
import subprocess
import time
from typing import Any
import venv

import sqlalchemy as sa

from bench import examples
from bench import measure
from bench import spawn
from nova_rt.testing import copies
from stack import prerequisites
from stack.cloud import Cloud
from stack.errors import StackError
from stack.rundir import RunDir
from stack.service import Site
from stack.services import keystone

ROOT = Path(__file__).resolve().parent.parent
RUN_DIR = ROOT / 'run' / 'bench'
DESK = ROOT / 'run' / 'desk'
HOSTS = 1000
PCPUS = 64
SERVERS = 8000
ROUNDS = 3
MOST_S = 2
OURS = 'rt host list'
# The first is the least that a command takes: the start of the shell, and a token.
THEIRS = ('token issue', 'compute service list', 'hypervisor list --long')
ALONE = ('rt server list', 'rt project list')
# Service and path of the requests that the commands make, where one request suffices.
REQUESTS = {OURS: ('rt', f'/hosts?limit={HOSTS}'),
            THEIRS[1]: ('compute', '/os-services'),
            THEIRS[2]: ('compute', '/os-hypervisors/detail')}


def measurements(without_stack: bool) -> Iterator[measure.Measurement]:
    """Yield the times of commands and of their requests; nothing without a real stack.

    :raises StackError: if the stack does not start, or a command fails
    """
    if without_stack or prerequisites.missing_for_containers():
        return
    cloud = Cloud(Site(RunDir(RUN_DIR)))
    cloud.up()
    try:
        yield from of_cloud(cloud)
    finally:
        problems = cloud.down()
    if problems:
        raise StackError(' '.join(problems))


def of_cloud(cloud: Cloud) -> Iterator[measure.Measurement]:
    """Yield the times of a stack that is up; its databases then have the copies."""
    client = keystone.cloud(cloud.site)
    grow(cloud.site, client)
    shell = _shell()
    commands = measure.in_turn(
        {words: functools.partial(_command, shell, cloud, words)
         for words in (OURS, *THEIRS, *ALONE)},
        ROUNDS, time.perf_counter)
    requests = measure.in_turn(
        {words: functools.partial(_request, client, *where) for words, where in REQUESTS.items()},
        ROUNDS, time.perf_counter)
    size = f'{HOSTS:,} hosts'
    for beside in THEIRS:
        measurement = measure.compared(
            f'openstack {OURS}, {size}', f'openstack {beside}',
            commands[OURS], commands[beside], 's', 1)
        yield measure.with_aims(measurement, measure.Aim(
            f'under {MOST_S} s', measurement.ours.median < MOST_S))
        if beside in REQUESTS:
            yield measure.compared(
                f'its request, {size}', f'GET {REQUESTS[beside][1]}',
                requests[OURS], requests[beside], 's', 1)
    for words in ALONE:
        yield measure.Measurement(f'openstack {words}, {SERVERS:,} servers', 's',
                                  measure.Spread.of(commands[words]))


def grow(site: Site, client: Any) -> None:
    """Copy the only host, and a server on it, until there are so many.

    :raises StackError: if there is no server to copy
    """
    flavor = spawn.make_flavor(client.compute, 'copied')
    image = client.image.find_image('busybox', ignore_missing=False)
    server = client.compute.create_server(
        name='copied', flavor_id=flavor, image_id=image.id, networks='none')
    server = client.compute.wait_for_server(server, interval=0.2, wait=spawn.PATIENCE)
    cloud = copies.Copies(*(
        sa.create_engine(site.database(name)) for name in ('nova', 'nova_api')))
    names = [f'copy-{number:04}' for number in range(1, HOSTS)]
    cloud.add_hosts(server.compute_host, names, lambda number: examples.stats(
        examples.used_host(PCPUS, number)))
    everywhere = [server.compute_host, *names]
    cloud.add_servers(server.id, [everywhere[number % HOSTS] for number in range(1, SERVERS)])


def _shell() -> Path:
    """Return the openstack shell of a desk, installed with this nova-rt."""
    venv.create(DESK, with_pip=True)
    done = subprocess.run(
        [DESK / 'bin' / 'pip', 'install', '--quiet', '--constraint', ROOT / 'constraints.txt',
         'python-openstackclient', ROOT], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StackError(f'The openstack shell cannot be installed: {done.stderr}')
    return DESK / 'bin' / 'openstack'


def _command(shell: Path, cloud: Cloud, words: str) -> None:
    done = subprocess.run(
        [shell, *words.split(), '-f', 'json'],
        env={**os.environ, **cloud.environment()}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StackError(f'"openstack {words}" failed: {done.stderr}')


def _request(client: Any, service: str, path: str) -> None:
    answer = client.session.get(path, endpoint_filter={'service_type': service}, headers={
        'OpenStack-API-Version': f'{service} {"1.6" if service == "rt" else "2.100"}'})
    answer.json()
