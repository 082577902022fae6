# SPDX-License-Identifier: Apache-2.0
"""What each host lacks for a server, in the sum and pCPU by pCPU."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import itertools

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A host as scheduler and Placement know it.

    :ivar trouble: why Nova does not use it at all; empty if it does
    :ivar told: its bandwidth, as it has told; None if it offers none
    :ivar left: by resource class, what Placement may still promise
    """

    name: str
    trouble: str
    told: shares.HostShares | None
    left: Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a host that keeps a server away, or that it fits.

    :ivar what: ``pCPU 3``, a resource class, or empty for the whole host
    """

    host: str
    what: str
    needed: str
    left: str
    missing: str
    sentence: str


def explain(hosts: Iterable[Host], wanted: reservation.Reservation | None,
            needs: Mapping[str, int]) -> Iterator[Finding]:
    """Yield host by host what is missing, as it is now.

    :param wanted: the server's reservation, None without one
    :param needs: by resource class, what the server takes from Placement
    """
    for host in hosts:
        findings = list(_lacks(host, wanted, needs))
        yield from findings or [Finding(
            host.name, '', '', '', '', 'The server fits now.')]


def _lacks(host: Host, wanted: reservation.Reservation | None,
           needs: Mapping[str, int]) -> Iterator[Finding]:
    if host.trouble:
        yield Finding(host.name, '', '', '', '', host.trouble)
    if wanted is not None and host.told is None:
        yield Finding(host.name, '', '', '', '',
                      'The host offers no CPU reservations.')
        needs = {name: amount for name, amount in needs.items()
                 if name != shares.RESOURCE_CLASS}
    for name, needed in sorted(needs.items()):
        left = host.left.get(name, 0)
        if left < needed:
            yield Finding(
                host.name, name, _amount(name, needed), _amount(name, left),
                _amount(name, needed - left),
                'Placement has too little left to promise.')
    if wanted is not None and host.told is not None:
        yield from _pcpus(host.name, host.told, wanted)


def _pcpus(name: str, told: shares.HostShares,
           wanted: reservation.Reservation) -> Iterator[Finding]:
    miss = fitting.shortfall(told, wanted)
    if miss is None:
        return
    sentence = str(miss)
    yield Finding(
        name, '', '', '', '', f'{sentence[0].upper()}{sentence[1:]}.')
    offered = [(pcpu, left) for pcpu, (left, most) in enumerate(zip(
        told.left, told.capacity, strict=True)) if most]
    for left, group in itertools.groupby(offered, key=lambda each: each[1]):
        lacks = wanted.bandwidth - left
        if lacks > 0:
            yield Finding(
                name, _range([pcpu for pcpu, _ in group]),
                bandwidth.percent(wanted.bandwidth), bandwidth.percent(left),
                bandwidth.percent(lacks),
                'There is too little left for one vCPU.')


def _range(pcpus: list[int]) -> str:
    """Return pCPUs of which the bandwidth is the same; not always adjacent."""
    runs = []
    for _, run in itertools.groupby(
            enumerate(pcpus), key=lambda each: each[1] - each[0]):
        numbers = [pcpu for _, pcpu in run]
        runs.append(str(numbers[0]) if len(numbers) == 1
                    else f'{numbers[0]}-{numbers[-1]}')
    return f'pCPU {",".join(runs)}'


def _amount(name: str, amount: int) -> str:
    if name == shares.RESOURCE_CLASS:
        return bandwidth.percent(amount)
    return str(amount)
