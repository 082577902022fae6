# SPDX-License-Identifier: Apache-2.0
"""Choosing pCPUs, and packing and unpacking a host in ``ComputeNode.stats``."""

from collections.abc import Iterator
import functools

from nova.virt import hardware
from oslo_serialization import jsonutils

from bench import examples
from bench import measure
from nova_rt import fitting
from nova_rt import shares

PCPUS = (64, 256)
# A policy that ranks pCPUs by what they have left; one that weighs sizes looks at
# each size as well.
AIMS_US = {64: 5, 256: 20}
ROUNDS = 15
TIMES = 50
PER_ACTION_US = 1e6 / TIMES


def measurements() -> Iterator[measure.Measurement]:
    """Yield a measurement for each size, policy and direction."""
    for pcpus in PCPUS:
        yield from _policies(pcpus)
        yield from _stats(pcpus)


def _policies(pcpus: int) -> Iterator[measure.Measurement]:
    host = examples.used_host(pcpus, seed=1)
    beside = 'numa_fit_instance_to_host'
    actions: dict[str, measure.Action] = {
        policy: functools.partial(
            fitting.place, host, examples.WANTED, policy)
        for policy in fitting.POLICIES}
    actions[beside] = functools.partial(
        hardware.numa_fit_instance_to_host,
        examples.numa_topology(
            pcpus, cells=4, pinned=examples.pinned_pcpus(pcpus, seed=1)),
        examples.request(examples.dedicated(
            examples.WANTED.vcpus)).numa_topology, provider_mapping={})
    for name, action in actions.items():
        if not action():
            raise RuntimeError(f'There is no room on {pcpus} pCPUs with {name}.')
    seconds = _in_turn(actions)
    for policy in fitting.POLICIES:
        measurement = measure.compared(
            f'place, {policy}, {pcpus} pCPUs', f'Nova\'s {beside}',
            seconds[policy], seconds[beside], 'µs', PER_ACTION_US)
        aim = measure.Aim('at most 0.5 of it', measure.ratio_of(measurement) <= 0.5)
        if policy not in fitting.WEIGHING_SIZES:
            aim = measure.Aim(f'under {AIMS_US[pcpus]} µs',
                              measurement.ours.median < AIMS_US[pcpus])
        yield measure.with_aims(measurement, aim)


def _stats(pcpus: int) -> Iterator[measure.Measurement]:
    host = examples.used_host(pcpus, seed=1)
    packed = shares.to_stats(host)
    plain = {'capacity': host.capacity, 'used': host.used}
    text = jsonutils.dumps(plain)
    seconds = _in_turn({
        'pack': functools.partial(shares.to_stats, host),
        'unpack': functools.partial(shares.from_stats, packed),
        'dumps': functools.partial(jsonutils.dumps, plain),
        'loads': functools.partial(jsonutils.loads, text)})
    for ours, theirs in (('pack', 'dumps'), ('unpack', 'loads')):
        yield measure.compared(
            f'{ours} stats, {pcpus} pCPUs', f'JSON {theirs}',
            seconds[ours], seconds[theirs], 'µs', PER_ACTION_US,
            notes={'bytes': sum(map(len, packed.values())),
                   'bytes as JSON': len(text)})


def _in_turn(actions: dict[str, measure.Action]) -> dict[str, list[float]]:
    return measure.in_turn(
        {name: measure.repeated(action, TIMES)
         for name, action in actions.items()}, ROUNDS)
