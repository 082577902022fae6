# SPDX-License-Identifier: Apache-2.0
"""Evictions by a whole Nova, from a missed deadline to the loan in the kernel: RT-Kube's V-E.

A node in a virtual machine has our kernel and nova-rt-compute; its clock is this machine's, and
its CPUs are emulated. Two servers share its one pCPU for reservations: one of criticality C, whose
reservation is too small for its activity, and one of A that holds the rest and never sleeps.
Once that one has been stopped, the same room is free, and lent at once.
"""

import base64
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import json
from pathlib import Path
import tempfile
import time
from typing import Any

import numpy as np
import openstack

from experiments import guest
from experiments import output
from experiments import recovery
from stack import cloud as stack_cloud
from stack import errors
from stack import rundir
from stack import service
from stack.nodes import alone
from stack.nodes import containers
from stack.nodes import machine

SAMPLES = 10
# Together all that the kernel admits beside its fair server, 90%.
CRITICAL = ('busybox', 3_000, 8_333, 'C')
LEAST = ('busybox-hog', 10_799, 20_000, 'A')
ACTIVITY = ('driver', '8333', '8333', '1', '4000*100000')
OPTIONS = {
    'cpu_set': '0', 'lend_after_misses': 1, 'miss_window': 1.0, 'lend_most': 0.5,
    'lend_for': 2, 'evict_on_misses': True, 'evict_for': 1}
WATCH = Path(alone.__file__).with_name('recovery_watch.py')
# Until a loan has ended, and then some.
REST_S = 3.0
# Between evictions: nova-rt-compute spends no more than a tenth of its time on making room.
APART_S = 120.0
PATIENCE_S = 600.0
KINDS = {'eviction': 'stop by Nova, then loan', 'loan': 'loan of what is free'}


@dataclasses.dataclass(frozen=True)
class Sample:
    """From a missed deadline on, in ms; NaN for what did not happen.

    :ivar stopped: until the less critical server's group was gone
    :ivar remedy: until the critical one had more in the kernel
    """

    stopped: float
    remedy: float


class Servers:
    """The two servers, and the node below them."""

    def __init__(self, cloud: stack_cloud.Cloud) -> None:
        self._node: machine.Machine = cloud.node(1)
        options: dict[str, Any] = {
            key.removeprefix('OS_').lower(): value
            for key, value in cloud.environment('admin').items()
            if key != 'OS_COMPUTE_API_VERSION'}
        self._compute = openstack.connect(
            load_yaml_config=False, load_envvars=False, **options)
        self._copy(WATCH)
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / 'activity'
            alone.compile_activity(program)
            self._copy(program)
        self._critical, self._least = (self._boot(*each) for each in (CRITICAL, LEAST))

    def _copy(self, path: Path) -> None:
        target = f'/root/{path.name}'
        self._node.run('base64', '-d', '>', target, '&&', 'chmod', '+x', target,
                       text=base64.encodebytes(path.read_bytes()).decode())

    def _boot(self, image: str, runtime_us: int, period_us: int, rank: str) -> str:
        compute = self._compute.compute
        flavor = compute.create_flavor(name=rank, ram=64, vcpus=1, disk=1)
        compute.create_flavor_extra_specs(flavor, {
            'hw:cpu.rt_runtime_us': str(runtime_us), 'hw:cpu.rt_period_us': str(period_us),
            'hw:cpu.rt_criticality': rank})
        server: str = compute.create_server(
            name=rank, flavor_id=flavor.id, networks='none',
            image_id=self._compute.image.find_image(image, ignore_missing=False).id).id
        self._wait(server, 'ACTIVE')
        return server

    def _wait(self, server: str, status: str) -> None:
        def rests() -> bool:
            shown = self._compute.compute.get_server(server)
            if shown.status == 'ERROR':
                raise guest.GuestError(f'A server failed: {shown.fault}')
            return shown.status == status and not shown.task_state
        until(rests, f'server {server} is {status}')

    def stop(self) -> Sample:
        """Let the critical one miss deadlines until it has what the other one held."""
        found = self._watch(self._group(self._least))
        self._wait(self._least, 'SHUTOFF')
        return found

    def lend(self) -> Sample:
        """The same, with room that is free."""
        return self._watch('')

    def restart(self) -> None:
        """Start the other one again, as its user may; Nova may have done so."""
        if self._compute.compute.get_server(self._least).status == 'SHUTOFF':
            self._compute.compute.start_server(self._least)
        self._wait(self._least, 'ACTIVE')

    def _group(self, server: str) -> str:
        shown = self._compute.compute.get_server(server)
        return containers.look(self._node)[shown.instance_name].group

    def _watch(self, other: str) -> Sample:
        done = self._node.run('python3', f'/root/{WATCH.name}', *(f"'{each}'" for each in (
            self._group(self._critical), other, '/root/activity', *ACTIVITY)), patience=400)
        return of(json.loads(done.stdout.splitlines()[-1]))


def of(seen: Mapping[str, Any]) -> Sample:
    """Return what ``recovery_watch.py`` printed."""
    return Sample(*((seen[name] - seen['missed_ns']) / 1e6
                    if seen[name] and seen['missed_ns'] else float('nan')
                    for name in ('stopped_ns', 'loan_ns')))


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something.

    :raises guest.GuestError: if it does not happen
    """
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end_s:
            raise guest.GuestError(f'Not within {PATIENCE_S:.0f} s: {what}.')
        time.sleep(0.5)


@contextlib.contextmanager
def _running() -> Iterator[stack_cloud.Cloud]:
    with tempfile.TemporaryDirectory() as folder:
        cloud = stack_cloud.Cloud(service.Site(
            rundir.RunDir(Path(folder) / 'run'), nodes=1, nova_conf={'rt': OPTIONS}))
        try:
            cloud.up()
        except errors.StackError as exc:
            raise guest.GuestError(f'OpenStack does not start: {exc}') from None
        try:
            yield cloud
        finally:
            for problem in cloud.down():
                print(problem)


def measure(samples: int, clock: output.Clock) -> dict[str, list[Sample]]:
    """Return the samples of each kind, from a new OpenStack."""
    found: dict[str, list[Sample]] = {kind: [] for kind in KINDS}
    with _running() as cloud:
        clock.say('OpenStack is up')
        servers = Servers(cloud)
        clock.say('both servers run')
        for _ in range(samples):
            time.sleep(REST_S if not found['eviction'] else APART_S)
            found['eviction'].append(servers.stop())
            time.sleep(REST_S)
            found['loan'].append(servers.lend())
            time.sleep(REST_S)
            servers.restart()
            clock.say(' '.join(f'{kind}: {each[-1]}' for kind, each in found.items()))
    return found


HEADER = ['kind', 'what', 'samples', 'stopped_mean_ms', 'stopped_worst_ms', 'remedy_mean_ms',
          'remedy_worst_ms', 'paper_mean_ms', 'paper_worst_ms']


def rows(found: Mapping[str, Sequence[Sample]]) -> list[list[object]]:
    """Return the table, a row for each kind."""
    return [[kind, KINDS[kind], len(each),
             *(number for name in ('stopped', 'remedy') for number in _both(
                 [getattr(one, name) for one in each])),
             recovery.PAPER_MEAN, recovery.PAPER_WORST] for kind, each in found.items()]


def _both(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if value == value]
    return (float(np.mean(known)), max(known)) if known else (float('nan'), float('nan'))


def run(folder: output.Folder, quick: bool = False) -> dict[str, list[Sample]]:
    """Measure; write and return the samples."""
    clock = output.Clock()
    samples = folder.samples('evictions', lambda: {
        kind: [dataclasses.astuple(each) for each in found]
        for kind, found in measure(1 if quick else SAMPLES, clock).items()})
    found = {kind: [Sample(*map(float, each)) for each in samples[kind]] for kind in KINDS}
    table = rows(found)
    folder.table('evictions', HEADER, table)
    for row in table:
        print(*row)
    return found
