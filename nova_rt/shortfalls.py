# SPDX-License-Identifier: Apache-2.0
"""What each host is short of for a server, in the sum and pCPU by pCPU."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import itertools

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import kinds
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.units import Units

# As flavors and images ask for traits.
REQUIRED, FORBIDDEN = 'required', 'forbidden'


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What a server asks for.

    :ivar wanted: its reservation, None without one
    :ivar needs: by resource class, what it takes from Placement; empty for a
        server that no cell has yet
    :ivar fault: the newest one that Nova has recorded; empty without one
    :ivar kind: of server, and why; None if any kind will do
    :ivar traits: of Placement, that flavor and image ask for: ``required`` or
        ``forbidden``, by name
    :ivar count: of such servers, that were asked for together, none of which has a host
    :ivar on_one_host: whether several such servers have to be on the same host
    """

    wanted: reservation.Reservation | None
    needs: Mapping[str, int]
    fault: str = ''
    kind: kinds.Choice | None = None
    traits: Mapping[str, str] = dataclasses.field(default_factory=dict)
    count: int = 1
    on_one_host: bool = False


def _as_many(wanted: int) -> tuple[int, str]:
    return wanted, ''


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A host as scheduler and Placement know it.

    :ivar trouble: why Nova does not use it at all; empty if it does
    :ivar reported: its bandwidth, as it last reported; None if it offers none
    :ivar left: by resource class, what Placement may still allocate
    :ivar kind: the kind of server that it runs, None if it does not say
    :ivar policy: its placement policy
    :ivar traits: that it has in Placement
    :ivar refusals: why it is not for the server for other reasons: words on what, and
        sentences
    :ivar most: returns how many of so many such servers it may have, as all have room, and a
        sentence on why no more
    :ivar units: by resource class, what Placement allocates at once, as far as that matters
    """

    name: str
    trouble: str
    reported: shares.HostShares | None
    left: Mapping[str, int]
    kind: kinds.Kind | None = None
    policy: str = fitting.DEFAULT
    traits: Collection[str] = ()
    refusals: Collection[tuple[str, str]] = ()
    most: Callable[[int], tuple[int, str]] = dataclasses.field(default=_as_many, compare=False)
    units: Mapping[str, Units] = dataclasses.field(default_factory=dict)

    def never_gives(self, name: str, amount: int) -> str | None:
        """Return why Placement never allocates so much of a resource class here, if so."""
        units = self.units.get(name)
        return units.refusal(amount) if units is not None and amount else None


@dataclasses.dataclass(frozen=True, slots=True)
class Shortfall:
    """One reason why a server does not fit a host, or that it does.

    :ivar what: ``pCPU 3``, a resource class, ``trait``, ``zone``, ``aggregate``, ``filter``,
        ``host``, ``kind``, ``criticality``, ``closed``, ``nearest`` for what would fit instead,
        ``moves`` that would make room, or empty for the whole host; ``together`` for all hosts
    """

    host: str
    what: str
    needed: str
    left: str
    missing: str
    sentence: str


_NO_MOVES: Mapping[str, Shortfall] = {}


def explain(hosts: Iterable[Host], request: Request,
            moves: Mapping[str, Shortfall] = _NO_MOVES) -> Iterator[Shortfall]:
    """Yield what is missing now, for all servers of the request and host by host.

    :param moves: that would make room, by host
    """
    hosts = list(hosts)
    yield from together(hosts, request)
    for host in hosts:
        yield from of_host(host, request) or [Shortfall(
            host.name, '', '', '', '', 'The server fits now.')]
        if host.name in moves:
            yield moves[host.name]


def of_host(host: Host, request: Request) -> list[Shortfall]:
    """Return what is missing on one host, nothing if the server fits now."""
    wrong_kind = _of_kind(host, request.kind) if request.wanted is not None else []
    if wrong_kind:
        return wrong_kind
    refused = [*_of_traits(host, request.traits), *(
        Shortfall(host.name, what, '', '', '', sentence) for what, sentence in host.refusals)]
    missing = [*refused, *_of_host(host, request.wanted, request.needs)]
    if missing and not refused:
        missing += _nearest(host, request)
    return missing


def in_pieces(host: Host, request: Request) -> bool:
    """Return whether a host lacks nothing but bandwidth in pieces that are large enough."""
    wanted, reported = request.wanted, host.reported
    if wanted is None or reported is None or fitting.shortfall(reported, wanted) is None:
        return False
    empty = shares.HostShares.empty(reported.capacity, reported.occupancy)
    return not of_host(dataclasses.replace(host, reported=empty), request)


def only_room(host: Host, request: Request) -> bool:
    """Return whether a host takes such a server as soon as others leave enough bandwidth.

    It does not take it now; and if it is closed for a while, that ends, too.
    """
    reported = host.reported
    if request.wanted is None or reported is None or not of_host(host, request):
        return False
    return not of_host(dataclasses.replace(
        host, reported=shares.HostShares.empty(reported.capacity, reported.occupancy),
        left={**host.left, shares.RESOURCE_CLASS: max(
            host.left.get(shares.RESOURCE_CLASS, 0), reported.rt_share)},
        refusals=[each for each in host.refusals if each[0] != 'closed']), request)


def together(hosts: Iterable[Host], request: Request) -> list[Shortfall]:
    """Return that there is too little room for all servers of one request, if so.

    Nova places all of them or none, though a single one may fit.
    """
    if request.count == 1 or not any(request.needs.values()):
        return []
    fitting_now = total((room(host, request)[0] for host in hosts), request)
    if fitting_now >= request.count:
        return []
    return [Shortfall(
        '', 'together', str(request.count), str(fitting_now),
        str(request.count - fitting_now),
        f'One request asked for {request.count} such servers, and {fitting_now} fit'
        + (', as all have to be on one host.' if request.on_one_host else '.'))]


def total(counts: Iterable[int], request: Request) -> int:
    """Return how many servers fit hosts of which each alone takes so many."""
    return max(counts, default=0) if request.on_one_host else sum(counts)


def room(host: Host, request: Request) -> tuple[int, str]:
    """Return how many such servers fit a host, and a sentence on why no more.

    What filter, claim and Placement would decide for one after the other.

    :param request: at least one amount that it needs is not zero
    """
    wanted, needs = request.wanted, request.needs
    for missing in of_host(host, request):
        return 0, f'{missing.what}: {missing.sentence}' if missing.what else missing.sentence
    fitting_by_class = {name: host.left.get(name, 0) // needed
                        for name, needed in needs.items() if needed}
    scarcest = min(fitting_by_class, key=fitting_by_class.__getitem__)
    most = fitting_by_class[scarcest]
    why = f'{scarcest}: Placement has too little left to allocate.'
    if wanted is not None and host.reported is not None:
        count = fitting.count(host.reported, wanted, host.policy, most)
        if count < most:
            most, why = count, 'The pCPUs have too little bandwidth left for another.'
    count, refusal = host.most(most)
    return count, refusal or why


def _of_kind(host: Host, kind: kinds.Choice | None) -> list[Shortfall]:
    """Return that a host runs the other kind; all else does not matter then."""
    if kind is None or host.kind in (None, kind.kind):
        return []
    return [Shortfall(
        host.name, 'kind', kind.kind.value, host.kind.value, '',
        f'The host runs {host.kind.plural}, but {kind.reason}.')]


def _of_traits(host: Host, traits: Mapping[str, str]) -> Iterator[Shortfall]:
    for name, asked in sorted(traits.items()):
        if asked == REQUIRED and name not in host.traits:
            yield Shortfall(host.name, 'trait', name, '', '',
                            f'The host lacks the trait {name}, which is required.')
        elif asked == FORBIDDEN and name in host.traits:
            yield Shortfall(host.name, 'trait', '', name, '',
                            f'The host has the trait {name}, which is forbidden.')


def _nearest(host: Host, request: Request) -> list[Shortfall]:
    """Return what would fit a host that takes such servers, if only bandwidth is short."""
    wanted = request.wanted
    if (wanted is None or host.reported is None or host.trouble
            or any(host.left.get(name, 0) < needed or host.never_gives(name, needed)
                   for name, needed in request.needs.items()
                   if name != shares.RESOURCE_CLASS)):
        return []
    runtime_us = fitting.longest_runtime(
        host.reported, wanted, host.left.get(shares.RESOURCE_CLASS, 0))
    if not runtime_us:
        return []
    return [Shortfall(
        host.name, 'nearest', '', '', '',
        f'With a runtime of {runtime_us} µs every {wanted.period_us} µs it would fit.')]


def _of_host(host: Host, wanted: reservation.Reservation | None,
             needs: Mapping[str, int]) -> Iterator[Shortfall]:
    if host.trouble:
        yield Shortfall(host.name, '', '', '', '', host.trouble)
    if wanted is not None and host.reported is None:
        yield Shortfall(host.name, '', '', '', '',
                        'The host offers no CPU reservations.')
        needs = {name: amount for name, amount in needs.items()
                 if name != shares.RESOURCE_CLASS}
    for name, needed in sorted(needs.items()):
        left = host.left.get(name, 0)
        never = host.never_gives(name, needed)
        if never is not None:
            yield Shortfall(host.name, name, _amount(name, needed), _amount(name, left), '',
                            never)
        elif left < needed:
            yield Shortfall(
                host.name, name, _amount(name, needed), _amount(name, left),
                _amount(name, needed - left),
                'Placement has too little left to allocate.')
    if wanted is not None and host.reported is not None:
        yield from _of_pcpus(host.name, host.reported, wanted)


def _of_pcpus(name: str, reported: shares.HostShares,
              wanted: reservation.Reservation) -> Iterator[Shortfall]:
    shortfall = fitting.shortfall(reported, wanted)
    if shortfall is None:
        return
    sentence = str(shortfall)
    yield Shortfall(
        name, '', '', '', '', f'{sentence[0].upper()}{sentence[1:]}.')
    offered = [(pcpu, left) for pcpu, (left, capacity) in enumerate(zip(
        reported.left, reported.capacity, strict=True)) if capacity]
    for left, group in itertools.groupby(offered, key=lambda pair: pair[1]):
        missing = wanted.bandwidth - left
        if missing > 0:
            yield Shortfall(
                name, f'pCPU {ledger.ranges(pcpu for pcpu, _ in group)}',
                bandwidth.percent(wanted.bandwidth), bandwidth.percent(left),
                bandwidth.percent(missing),
                'There is too little left for one vCPU.')


def _amount(name: str, amount: int) -> str:
    if name == shares.RESOURCE_CLASS:
        return bandwidth.percent(amount)
    return str(amount)
