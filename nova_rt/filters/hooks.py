# SPDX-License-Identifier: Apache-2.0
"""Puts nova-rt's question to Placement in place, in nova-scheduler.

Nova documents filters and weighers, but no way to add to what Placement is
asked: a scheduler that loads :class:`~nova_rt.filters.rt_share_filter.RTShareFilter`
installs both of these. What they build on is checked then.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
from typing import Any

from nova import context as nova_context
from nova import objects
from nova import version
from nova.scheduler import request_filter
from nova.scheduler.client import report

from nova_rt import signatures

# What nova-scheduler calls before it asks Placement, and its list of them.
_ASKING = 'nova.scheduler.request_filter:process_reqspec'
_REQUEST_FILTERS = 'ALL_REQUEST_FILTERS'
# How it asks.
_CANDIDATES = ('nova.scheduler.client.report:SchedulerReportClient'
               '.get_allocation_candidates')


def install_request_filter(
        ask: Callable[[nova_context.RequestContext, objects.RequestSpec], bool],
        ) -> None:
    """Have nova-scheduler call this before it asks Placement.

    It is called when the scheduler loads our filter, once or more often.

    :raises UnknownNovaError: if Nova has no list of request filters
    """
    signatures.check_signature(_ASKING, 'ctxt request_spec')
    filters = getattr(request_filter, _REQUEST_FILTERS, None)
    if not isinstance(filters, list):
        raise signatures.UnknownNovaError(
            f'Nova {version.version_string()} has no list '
            f'{request_filter.__name__}.{_REQUEST_FILTERS}: install a Nova or '
            'a nova-rt that fits.')
    if ask not in filters:
        filters.append(ask)


def install_candidates_search(
        search: Callable[[nova_context.RequestContext, Callable[[], Any]],
                         Any]) -> None:
    """Have nova-scheduler ask Placement through this.

    It is called when the scheduler loads our filter, once or more often.

    :param search: called with Nova's own question, which it may repeat; Nova
        gets what it returns
    :raises UnknownNovaError: if Nova asks in another way
    """
    signatures.check_signature(_CANDIDATES, 'self context resources')
    client = report.SchedulerReportClient
    theirs = client.get_allocation_candidates
    if getattr(theirs, 'search', None) is search:
        return

    @functools.wraps(theirs)
    def get_allocation_candidates(self: report.SchedulerReportClient,
                                  context: nova_context.RequestContext,
                                  resources: Any) -> Any:
        return search(context, lambda: theirs(self, context, resources))
    vars(get_allocation_candidates)['search'] = search
    # Nova has no other place for it.
    client.get_allocation_candidates = get_allocation_candidates  # type: ignore[method-assign]
