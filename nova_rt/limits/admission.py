# SPDX-License-Identifier: Apache-2.0
"""Lets a request through that keeps its project within the limit."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses

from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import exception

from nova_rt import bandwidth
from nova_rt.db import problems
from nova_rt.limits import errors
from nova_rt.limits import keystone
from nova_rt.limits import turns
from nova_rt.limits import under_way
from nova_rt.limits import usage


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """What a request asks for.

    :ivar share: that the project's servers are to have, in fixed point
    :ivar changed: the uuid of the server that is to have it instead of its own; None for new ones
    """

    project: str
    share: int
    changed: str | None = None


@contextlib.contextmanager
def admitted(context: nova_context.RequestContext, demand: Demand,
             anew: Callable[[], Demand | None] | None = None) -> Iterator[None]:
    """Carry out a request while no other of its project is let through.

    :param anew: returns what the request asks for when its turn has come, as those before it may
        have changed the server; None if it asks for nothing then
    :raises OverLimitError: if the project would have more than its limit
    :raises UndecidedError: if that cannot be told
    """
    limit = keystone.of_project(demand.project) if demand.share > 0 else None
    if limit is None:
        yield
        return
    with turns.of(demand.project):
        asked = demand if anew is None else anew()
        if asked is not None:
            _admit(context.elevated(), asked, limit)
        yield


def _admit(admin: nova_context.RequestContext, demand: Demand, limit: int) -> None:
    with _decided():
        has = under_way.counted(admin, demand.changed) if demand.changed else 0
    more = max(demand.share - has, 0)
    if more:
        _check(more, limit, used(admin, demand.project))
    if demand.changed is not None:
        with _decided():
            under_way.note_growth(admin, demand.changed, more)


def used(context: nova_context.RequestContext, project: str) -> int:
    """Return the share of a project; see :func:`nova_rt.limits.usage.of_project`.

    :raises UndecidedError: if Nova's databases or Placement do not tell
    """
    with _decided():
        return usage.of_project(context.elevated(), project)


@contextlib.contextmanager
def _decided() -> Iterator[None]:
    """Say in a sentence that Nova's databases or Placement do not tell.

    :raises UndecidedError: in place of what was raised
    """
    try:
        yield
    except (exception.NovaException, ks_exc.ClientException, *problems.DATABASE_ERRORS) as exc:
        raise errors.UndecidedError(
            f'What the project has reserved cannot be counted ({exc}): try again.') from None


def _check(more: int, limit: int, used: int) -> None:
    if used + more <= limit:
        return
    raise errors.OverLimitError(
        f'The project may have {bandwidth.percent(limit)} of a CPU reserved, and has '
        f'{bandwidth.percent(used)}: {bandwidth.percent(more)} more is over its limit '
        f'of {keystone.RESOURCE}.')
