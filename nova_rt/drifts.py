# SPDX-License-Identifier: Apache-2.0
"""Compares what kernel, ledger, Nova and Placement each say of one host.

Nova's instances are the reference: they say what was reserved for whom. A repair
never takes anything away from a running server, whoever is right.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum

from nova_rt import bandwidth
from nova_rt import kinds
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares


class Kind(enum.StrEnum):
    """What differs. Scripts may rely on the values."""

    KERNEL_LACKS = 'kernel-lacks'
    KERNEL_EXCEEDS = 'kernel-exceeds'
    KERNEL_STRANGER = 'kernel-stranger'
    KERNEL_KEEPS = 'kernel-keeps'
    CLAIM_MISSING = 'claim-missing'
    LEDGER_DIFFERS = 'ledger-differs'
    PLACEMENT_LACKS = 'placement-lacks'
    PLACEMENT_EXCEEDS = 'placement-exceeds'
    PLACEMENT_ORPHAN = 'placement-orphan'
    PLACEMENT_UNKNOWN = 'placement-unknown'
    INVENTORY_DIFFERS = 'inventory-differs'
    FLAVOR_SILENT = 'flavor-silent'


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """What Nova says of a server that concerns the host.

    :ivar wanted: its reservation, None without one
    :ivar holdings: all that it holds here: its own, and a side of a move
    :ivar runs: what its container or virtual machine here must have; None if it has
        none here or Nova is about to start or stop it
    :ivar lacks_claim: it is here with a reservation, but holds no pCPUs
    :ivar allocations: the share that Placement must have allocated here, by
        consumer; None while Nova is changing it
    :ivar flavor_silent: its own flavor does not name its share
    """

    uuid: str
    wanted: reservation.Reservation | None = None
    holdings: tuple[ledger.Holding, ...] = ()
    runs: ledger.Holding | None = None
    lacks_claim: bool = False
    allocations: Mapping[str, int] | None = None
    flavor_silent: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Kernel:
    """What the kernel holds. Bandwidths by pCPU.

    :ivar containers: by server, the containers or virtual machines that run
    :ivar others: by group, those that hold something and are no container
    :ivar kept: what the groups above hold and nothing below them uses
    :ivar kind: that the host runs
    """

    containers: Mapping[str, Sequence[int]]
    others: Mapping[str, Sequence[int]] = dataclasses.field(
        default_factory=dict)
    kept: Sequence[int] = ()
    kind: kinds.Kind = kinds.Kind.CONTAINER


@dataclasses.dataclass(frozen=True, slots=True)
class Placement:
    """What Placement says of the host's provider.

    :ivar capacity: total less what is reserved, None without an inventory
    :ivar allocated: the share of each consumer
    :ivar orphans: the consumers that hold nothing here, according to Nova
    :ivar unknown: the consumers that Nova does not know (yet)
    """

    capacity: int | None
    allocated: Mapping[str, int]
    orphans: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Drift:
    """One difference, and how it is repaired.

    :ivar subject: a server, a consumer or a group
    :ivar remedy: what ``--heal`` does; empty if it does nothing
    """

    kind: Kind
    subject: str
    sentence: str
    remedy: str = ''


def compare(empty: shares.HostShares, servers: Iterable[Server],
            kernel: Kernel | None, reported: shares.HostShares | None,
            placement: Placement) -> list[Drift]:
    """Return all differences, in the order of their repair. Empty if all four agree.

    :param empty: the host without any reservation
    :param kernel: None where the host offers no reservations
    :param reported: the ledger, as nova-rt-compute last reported it
    """
    servers = list(servers)
    drifts = [drift for server in servers for drift in _claim(server)]
    if kernel is not None:
        drifts += _kernel(empty, servers, kernel)
    drifts += _ledger(empty, servers, reported)
    drifts += _placement(empty, servers, placement)
    return drifts


def _claim(server: Server) -> Iterable[Drift]:
    if server.lacks_claim:
        yield Drift(
            Kind.CLAIM_MISSING, server.uuid,
            'The server has a reservation but no claim on pCPUs, so it cannot '
            'be started: resize or migrate it, or shelve and unshelve it.',
            'records the pCPUs that it runs on, if it runs')
    if server.flavor_silent:
        yield Drift(
            Kind.FLAVOR_SILENT, server.uuid,
            "The server's own flavor does not name its share: nova-manage "
            'placement heal_allocations would not restore it.',
            'writes the share into the flavor')


def _kernel(empty: shares.HostShares, servers: Iterable[Server],
            kernel: Kernel) -> Iterable[Drift]:
    known = {server.uuid: server for server in servers}
    for server in known.values():
        if server.runs is not None:
            yield from _running(empty, server.uuid, server.runs,
                                kernel.containers.get(server.uuid), kernel.kind)
    for uuid, has in kernel.containers.items():
        if any(has) and (uuid not in known or not known[uuid].holdings):
            yield Drift(
                Kind.KERNEL_STRANGER, uuid,
                f'A {kernel.kind.value} has {_most(has)} of a pCPU, but Nova has no such '
                'server with a reservation here: end its domain with virsh if '
                'nobody needs it.')
    for group, has in kernel.others.items():
        yield Drift(
            Kind.KERNEL_STRANGER, f'/{group}',
            f'The control group has {_most(has)} of a pCPU, but is no '
            'container of Nova: end what runs there, or give it no real-time '
            'runtime.')
    if any(kernel.kept):
        yield Drift(
            Kind.KERNEL_KEEPS, '',
            f'The groups above the containers keep {_most(kernel.kept)} of a '
            'pCPU that no container uses: it is missing elsewhere.',
            'takes it back')


def _running(empty: shares.HostShares, uuid: str, holding: ledger.Holding,
             has: Sequence[int] | None, kind: kinds.Kind) -> Iterable[Drift]:
    wanted = empty.add(holding.reservation, holding.pcpus).used
    if has is None:
        yield Drift(
            Kind.KERNEL_LACKS, uuid,
            f'Nova says that the server runs, but it has no {kind.value}: start '
            'it again.')
        return
    missing = [w - h for w, h in zip(wanted, has, strict=True)]
    if max(missing) > 0:
        pcpu = missing.index(max(missing))
        yield Drift(
            Kind.KERNEL_LACKS, uuid,
            f'The {kind.value} has {bandwidth.percent(has[pcpu])} of pCPU {pcpu}, '
            f'but its reservation is {bandwidth.percent(wanted[pcpu])}.',
            'gives it its reservation')
    elif min(missing) < 0:
        pcpu = missing.index(min(missing))
        yield Drift(
            Kind.KERNEL_EXCEEDS, uuid,
            f'The {kind.value} has {bandwidth.percent(has[pcpu])} of pCPU {pcpu}, '
            f'more than its reservation of {bandwidth.percent(wanted[pcpu])}: '
            'it keeps that until its server is rebooted.')


def _ledger(empty: shares.HostShares, servers: Iterable[Server],
            reported: shares.HostShares | None) -> Iterable[Drift]:
    used = empty.add_all(
        (holding.reservation.bandwidth, holding.pcpus)
        for server in servers for holding in server.holdings).used
    if (reported is None or reported.used != used
            or reported.capacity != empty.capacity):
        yield Drift(
            Kind.LEDGER_DIFFERS, '',
            f'The ledger has {_by_pcpu(reported.used if reported else None)}, '
            f'but the servers hold {_by_pcpu(used)}: nova-rt-compute derives '
            'it anew at every periodic update; restart it if that does not '
            'help.')


def _placement(empty: shares.HostShares, servers: Iterable[Server],
               placement: Placement) -> Iterable[Drift]:
    if placement.capacity != empty.rt_share:
        has = ('no inventory' if placement.capacity is None
               else f'an inventory of {_cpus(placement.capacity)}')
        yield Drift(
            Kind.INVENTORY_DIFFERS, '',
            f'Placement has {has} for the host, which offers '
            f'{_cpus(empty.rt_share)}: restart nova-rt-compute.')
    for consumer in sorted(placement.orphans):
        yield Drift(
            Kind.PLACEMENT_ORPHAN, consumer,
            f'Placement has allocated {_cpus(placement.allocated[consumer])} '
            'to a server or move that holds nothing here.',
            'takes the share out of the allocation')
    # What is to be given may need the room of what is taken back.
    yield from sorted(_allocations(servers, placement),
                      key=lambda drift: drift.kind is Kind.PLACEMENT_LACKS)
    for consumer in sorted(placement.unknown):
        yield Drift(
            Kind.PLACEMENT_UNKNOWN, consumer,
            f'Placement has allocated {_cpus(placement.allocated[consumer])} '
            'to a consumer that Nova does not know: unless a server is just '
            'being created, nova-manage placement audit --delete removes it.')


def _allocations(servers: Iterable[Server], placement: Placement) -> Iterable[Drift]:
    for server in servers:
        for consumer, share in (server.allocations or {}).items():
            allocated = placement.allocated.get(consumer, 0)
            if allocated != share:
                yield _allocation(server, consumer, allocated, share)


def _allocation(server: Server, consumer: str, allocated: int,
                share: int) -> Drift:
    kind = (Kind.PLACEMENT_LACKS if allocated < share
            else Kind.PLACEMENT_EXCEEDS)
    whose = '' if consumer == server.uuid else ' for the old side of its move'
    return Drift(
        kind, server.uuid,
        f'Placement has allocated {_cpus(allocated)} to the server{whose}, but '
        f'its reservation is {_cpus(share)}.', 'corrects the allocation')


def _most(has: Sequence[int]) -> str:
    return bandwidth.percent(max(has))


def _cpus(share: int) -> str:
    return f'{bandwidth.percent(share)} of a CPU'


def _by_pcpu(used: Sequence[int] | None) -> str:
    if used is None:
        return 'nothing'
    if not any(used):
        return 'no bandwidth'
    return ', '.join(f'{bandwidth.percent(share)} of pCPU {pcpu}'
                     for pcpu, share in enumerate(used) if share)
