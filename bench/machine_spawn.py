# SPDX-License-Identifier: Apache-2.0
"""The spawn of a virtual machine with a reservation, beside Nova's own without one.

One real stack, one image; nova-rt-compute and Nova's nova-compute take turns as its
compute service. Nova's log says how long each spawn took, from the claim on.
"""

from collections.abc import Iterator
from pathlib import Path
import re
from typing import Any

from bench import measure
from bench import spawn
from stack import ini
from stack import prerequisites
from stack.cloud import Cloud
from stack.errors import StackError
from stack.image import build
from stack.rundir import RunDir
from stack.service import Site
from stack.services import keystone
from stack.services import nova

RUN_DIR = Path(__file__).resolve().parent.parent / 'run' / 'bench'
ROUNDS = 6
# Of each compute service in a round; the first after a start, not counted, loads more.
SERVERS = 4
MS = 1e3
_MOST_RATIO = 1.02
_MOST_MS = 10
_SPAWNED = re.compile(r'Took ([0-9.]+) seconds to spawn the instance')


def measurements(without_stack: bool) -> Iterator[measure.Measurement]:
    """Yield the time of a spawn, ours beside Nova's; nothing without a real stack.

    :raises StackError: if the stack does not start, or a server fails
    """
    if without_stack or prerequisites.missing_for_machines():
        return
    cloud = Cloud(Site(RunDir(RUN_DIR), virt_type='qemu'))
    cloud.up()
    try:
        ours, theirs = _in_turn(cloud)
    finally:
        problems = cloud.down()
    if problems:
        raise StackError(' '.join(problems))
    more = measure.Spread.of([our - their for our, their in zip(ours, theirs, strict=True)])
    spawned = measure.compared(
        'spawn of a virtual machine', 'spawn by nova-compute', ours, theirs, 'ms', 1)
    ratio = spawned.ratio
    aim = measure.Aim('at most 2% and 10 ms more', ratio is not None
                      and ratio.median <= _MOST_RATIO and more.median <= _MOST_MS)
    yield measure.Measurement(
        spawned.name, spawned.unit, spawned.ours, spawned.beside, spawned.theirs, ratio,
        (aim,), {'ms more': round(more.median, 1), 'servers': len(ours) * (SERVERS - 1)})


def _in_turn(cloud: Cloud) -> tuple[list[float], list[float]]:
    """Return the mean ms of our spawns and of Nova's in each round."""
    client = keystone.cloud(cloud.site)
    flavors = {True: spawn.make_flavor(client.compute, 'reserving'),
               False: client.compute.create_flavor(
                   name='plain', vcpus=spawn.WANTED.vcpus, ram=64, disk=1).id}
    image = client.image.find_image(build.MACHINE, ignore_missing=False)
    commands = {True: cloud.site.compute, False: str(_stock(cloud.site))}
    took: dict[bool, list[float]] = {True: [], False: []}
    for number in range(ROUNDS):
        for ours in (True, False) if number % 2 else (False, True):
            cloud.site.compute = commands[ours]
            cloud.restart('nova-compute')
            took[ours].append(_round(cloud, client.compute, image.id, flavors[ours]))
    return took[True], took[False]


def _round(cloud: Cloud, compute: Any, image: str, flavor: str) -> float:
    """Return the mean ms of some spawns by the compute service that runs."""
    log = cloud.site.rundir.logs / 'nova-compute.log'
    before = len(_SPAWNED.findall(log.read_text()))
    for number in range(SERVERS):
        spawn.serve(compute, image, f'bench{number}', flavor)
    seconds = [float(each) for each in _SPAWNED.findall(log.read_text())[before:]]
    return sum(seconds[1:]) / (SERVERS - 1) * MS


def _stock(site: Site) -> Path:
    """Return a command that runs Nova's own compute service with the stack's options."""
    options = site.rundir.etc / 'nova' / 'stock.conf'
    ini.write(options, nova.STOCK)
    command = site.rundir.data / 'stock-compute'
    command.write_text(
        f'#!/bin/sh\nexec {site.script("nova-compute")} "$@" --config-file {options}\n')
    command.chmod(0o755)
    return command
