# SPDX-License-Identifier: Apache-2.0
"""The request filter that asks Placement for a reservation's share.

Placement allocates it together with all else that a server needs, in one step,
so no two schedulers promise the same bandwidth. Where Placement has no host,
what lacks is looked up.
"""

from __future__ import annotations

from collections.abc import Callable
import contextvars
from typing import Any

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.scheduler.client import report
from oslo_log import log as logging

from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares
from nova_rt.filters import host_view
from nova_rt.filters import in_place_resize
from nova_rt.instance import request_specs

LOG = logging.getLogger(__name__)

# Hosts of each cell that are looked at to say what lacks.
_LOOKED_AT = 1000
# How often Placement is asked where the share alone is not what lacks.
_QUESTIONS = 3
_VERSION = '1.36'

# Of the request that this thread of nova-scheduler works on. What Nova asks
# Placement for has the sum, but not what each vCPU needs.
_wanted: contextvars.ContextVar[reservation.Reservation | None]
_wanted = contextvars.ContextVar('wanted', default=None)


def ask_for_share(context: nova_context.RequestContext,
                  spec: objects.RequestSpec) -> bool:
    """Ask for the share and for a host that offers reservations.

    A request filter, which Nova calls before it asks Placement.

    The request is the scheduler's own copy: neither the flavor in the
    database nor the server's is changed. The share is in the flavor, and not
    in a request group of its own, so that Nova asks for it where it asks for
    the vCPUs.

    :returns: whether the request is for a reservation
    :raises NoValidHost: if it cannot be
    """
    try:
        wanted = request_specs.reservation_of(spec)
    except reservation.InvalidReservationError as why:
        raise exception.NoValidHost(reason=str(why)) from None
    _wanted.set(wanted)
    if 'extra_specs' not in spec.flavor:
        spec.flavor.extra_specs = {}
    if wanted is None:
        # One given by hand would be paid for without a reservation.
        spec.flavor.extra_specs.pop(shares.EXTRA_SPEC, None)
        return False
    spec.flavor.extra_specs[shares.EXTRA_SPEC] = str(wanted.share)
    spec.root_required.add(shares.TRAIT)
    in_place_resize.ask_to_stay(context, spec, wanted)
    return True


def find_candidates(context: nova_context.RequestContext,
                    ask: Callable[[], Any]) -> Any:
    """Return what Placement answers Nova, or say what lacks of the share.

    Nova itself would say nothing of why. If there is no host, but one with the
    share alone, either something else lacks, of which Nova is to tell, or a
    server has given back its share since: so Placement is asked again.

    :param ask: Nova's question: the allocations that Placement offers come
        first in the answer; None if it did not answer
    :raises NoValidHost: if no host at all has the share left
    """
    wanted = _wanted.get()
    for _ in range(_QUESTIONS):
        found = ask()
        if wanted is None or found is None or found[0]:
            break
        if _refused_everywhere(context, wanted):
            raise exception.NoValidHost(reason=_nearest_miss(context, wanted))
    return found


def _refused_everywhere(context, wanted):
    """Return whether Placement has no host with this share left."""
    answer = report.report_client_singleton().get(
        f'/allocation_candidates?resources={shares.RESOURCE_CLASS}:'
        f'{wanted.share}&required={shares.TRAIT}&limit=1',
        version=_VERSION, global_request_id=context.global_id)
    return bool(answer) and not answer.json()['allocation_requests']


def _nearest_miss(context, wanted):
    """Return what the host that comes nearest lacks, as a sentence."""
    told = nova_context.scatter_gather_skip_cell0(
        context, objects.ComputeNodeList.get_by_pagination, limit=_LOOKED_AT)
    misses = [_miss(node, wanted) for nodes in told.values()
              if isinstance(nodes, objects.ComputeNodeList)
              for node in nodes]
    if not misses:
        return 'There is no host that offers CPU reservations.'
    return f'{min(misses, key=lambda miss: miss.missing)}.'


def _miss(node, wanted):
    """Return what a host lacks, as fitting.NoRoomError does."""
    return host_view.shortfall(node.host, host_view.reported_by(node), wanted) or (
        fitting.NoRoomError(0, lambda: (
            f'The bandwidth that {node.host} has left is promised to servers '
            'that are being built or moved: try again')))
