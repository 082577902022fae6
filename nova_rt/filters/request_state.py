# SPDX-License-Identifier: Apache-2.0
"""What nova-scheduler's parts of nova-rt know of the request they work on.

Nova handles a scheduling request from beginning to end in one thread: request
filters, the question to Placement, filters and weighers, the latter once for each
server of the request. The question to Placement does not name the request, so its
state is kept with the thread.
"""

from __future__ import annotations

import contextvars
import dataclasses

from nova import objects

from nova_rt import criticality
from nova_rt import kinds
from nova_rt import reservation
from nova_rt import shares
from nova_rt.instance import request_specs


@dataclasses.dataclass(slots=True)
class CountedHost:
    """A host's bandwidth with the request's own servers counted.

    :ivar reported: what it was derived from
    :ivar placed: how many servers of the request are counted
    :ivar seen: None if the host offers no reservations
    """

    reported: tuple[str | None, ...]
    placed: int
    seen: shares.HostShares | None


@dataclasses.dataclass(slots=True)
class RequestState:
    """One scheduling request.

    :ivar spec: Nova's object; the scheduler's own copy
    :ivar wanted: the reservation that it asks for, None without one
    :ivar asked: the criticality that it says, None if it says none
    :ivar kind: of the server, and why; None if any kind will do
    :ivar stays: whether it resizes a server that stays on its host
    :ivar begun: whether a server of it may hold an allocation by now
    :ivar hosts: what was counted, by host and node
    """

    spec: objects.RequestSpec
    wanted: reservation.Reservation | None
    asked: criticality.Criticality | None = None
    kind: kinds.Choice | None = None
    stays: bool = False
    begun: bool = False
    hosts: dict[tuple[str, str], CountedHost] = dataclasses.field(
        default_factory=dict)


_current: contextvars.ContextVar[RequestState | None] = contextvars.ContextVar(
    'nova_rt_request', default=None)


def begin(spec: objects.RequestSpec) -> RequestState:
    """Start to work on a request in this thread.

    :raises InvalidReservationError: if it asks for an invalid reservation; the
        thread then works on none
    """
    _current.set(None)
    wanted = request_specs.reservation_of(spec)
    state = RequestState(
        spec, wanted, request_specs.criticality_of(spec, wanted),
        request_specs.kind_of(spec) if wanted else None)
    _current.set(state)
    return state


def of(spec: objects.RequestSpec) -> RequestState:
    """Return the state of a request, begun now if Nova has not said so.

    Nova calls no request filter where a server is rebuilt in place.

    :raises InvalidReservationError: if it asks for an invalid reservation
    """
    state = _current.get()
    return state if state is not None and state.spec is spec else begin(spec)


def current() -> RequestState | None:
    """Return the state of the request that this thread works on."""
    return _current.get()
