# SPDX-License-Identifier: Apache-2.0
"""Whether moves between its pCPUs would let a server into a host that lacks nothing else."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import functools
import shlex

from nova import context as nova_context
from nova import exception

from nova_rt import moving
from nova_rt import reservation
from nova_rt import shortfalls
from nova_rt import wording
from nova_rt.defrag import planner
from nova_rt.explain import collect
from nova_rt.view import hosts

# Each takes some questions to a database, and some milliseconds of search.
_MOST_HOSTS = 20


def moves_that_help(context: nova_context.RequestContext, among: Sequence[shortfalls.Host],
                    question: collect.Question) -> dict[str, shortfalls.Shortfall]:
    """Return by host that moves would make room, for those where some were found quickly.

    Of the hosts that lack nothing but bandwidth in one piece, those with the most left
    are looked at. Whether a host's claim makes the moves by itself, it reports, to
    ``RTShareFilter`` as well.

    :param context: of an administrator
    """
    candidates = [host for host in among if shortfalls.in_pieces(host, question.request)]
    candidates.sort(key=_left, reverse=True)
    found = (_entry(context, host.name, question) for host in candidates[:_MOST_HOSTS])
    return {entry.host: entry for entry in found if entry is not None}


def _left(host: shortfalls.Host) -> int:
    return sum(host.reported.left) if host.reported is not None else 0


def _entry(context: nova_context.RequestContext, name: str,
           question: collect.Question) -> shortfalls.Shortfall | None:
    wanted = question.request.wanted
    # It may have gone since it was listed.
    with contextlib.suppress(exception.HostMappingNotFound, exception.ComputeHostNotFound):
        host, held = hosts.one(context, name)
        if (wanted is None or host.reported is None
                or host.moves is moving.Moving.NEVER):
            return None
        search = functools.partial(planner.room, hosts.filled(host.reported, held),
                                   hosts.movable(held), wanted)
        # The filter passes no such host for several servers at once.
        alone = host.moves is moving.Moving.REFUSED and question.request.count == 1
        plan = search(planner.AT_CLAIM) if alone else None
        if plan is not None and plan.moves:
            return _told(name, (
                'If no host has room as it is, this one makes room by itself: it moves '
                f'{wording.counted(len(plan.moves), "vCPU")} ([rt] defrag_on_refusal).'))
        plan = search(planner.AT_DESK)
        if plan is not None and plan.moves:
            return _told(name, (
                f'Moving {wording.counted(len(plan.moves), "vCPU")} '
                f'({_command(name, question)}) would make room'
                + (', but by itself the host makes no more than '
                   f'{wording.counted(planner.AT_CLAIM, "move")}.' if alone else '.')))
    return None


def _told(name: str, sentence: str) -> shortfalls.Shortfall:
    return shortfalls.Shortfall(name, 'moves', '', '', '', sentence)


def _command(host: str, question: collect.Question) -> str:
    """Return the command that shows the moves."""
    hints = ((reservation.RUNTIME, question.times.runtime_us),
             (reservation.PERIOD, question.times.period_us))
    return shlex.join((
        'openstack', 'rt', 'defrag', 'plan', '--host', host, '--flavor', question.flavor,
        *(word for name, value in hints if value is not None
          for word in ('--hint', f'{name}={value}'))))
