# SPDX-License-Identifier: Apache-2.0
"""What ``--between-hosts`` adds to openstack rt defrag: live migrations of virtual machines."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import itertools
import time
from urllib import parse

from osc_lib import exceptions

from nova_rt import wording
from nova_rt.osc import client
from nova_rt.osc import columns
from nova_rt.osc import new_server
from nova_rt.sdk.answers import Json

INTERVAL_S = 2
"""How long it waits until it looks again how a migration goes."""

LOOKS = 30
"""How many looks one after the other may fail: an API may be started anew meanwhile."""

_MADE = ('step', 'server', 'name', 'host', 'target_host', 'source', 'target', 'bandwidth')
_ANEW = 'Run this again to go on with a new plan.'


def planned(api: client.Client, parsed_args: argparse.Namespace) -> Json:
    """Return the API's plan.

    :raises CommandError: if it has none
    """
    if not parsed_args.flavor:
        raise exceptions.CommandError(
            '--between-hosts makes room for a --flavor: hosts are balanced one by one.')
    given = {name: getattr(parsed_args, name)
             for name in ('host', 'max_moves', 'max_migrations', 'seconds')}
    return api.post('/plan', {
        **new_server.asked_for(parsed_args),
        **{name: value for name, value in given.items() if value is not None}})


def shown(plan: Json) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """Return the steps in their order, and the pCPUs of the hosts before and after."""
    wanted = plan['reservation']
    return ('host', 'bandwidth', 'vcpus', 'steps', 'cost', 'proof', 'hosts'), (
        plan['host'], columns.Share(wanted['bandwidth']), wanted['vcpus'],
        columns.Steps(plan['steps']), plan['cost'], plan['proof'],
        columns.LeftOnHosts(plan['hosts']))


def carried_out(api: client.Client, plan: Json, say: Callable[[str], None],
                ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Carry out a plan step by step, and return a row for each.

    :raises CommandError: if one is refused, or fails
    """
    steps = plan['steps']
    say(f'{wording.counted(len(steps), "step")} to room on {plan["host"]}. {plan["proof"]}')
    for number, step in enumerate(steps, 1):
        made = f'{number - 1} of {wording.counted(len(steps), "step")} made'
        words = columns.step_in_words(step)
        try:
            _make(api, step, say)
        except client.UndecidedError as exc:
            raise exceptions.CommandError(
                f'{made}; whether "{words}" was, too, is not known. {exc} {_ANEW}') from None
        except exceptions.CommandError as exc:
            raise exceptions.CommandError(
                f'{made}, then "{words}" was refused or failed. {exc} {_ANEW}') from None
        except KeyboardInterrupt:
            say(f'{made}; "{words}" may be under way, and ends by itself: "openstack server '
                f'show {step["server"]}" tells where the server is.')
            raise
        say(f'{number}. {words}')
    return _MADE, [(*(step[name] for name in _MADE[:-1]), columns.Share(step['bandwidth']))
                   for step in steps]


def path(host: str) -> str:
    """Return the path of a host."""
    return f'/hosts/{parse.quote(host, safe="")}'


def _make(api: client.Client, step: Json, say: Callable[[str], None]) -> None:
    """Make a step, and wait until it is over.

    :raises CommandError: if it is refused, or fails
    """
    if step['step'] == 'move':
        api.post(f'{path(step["host"])}/moves',
                 {name: step[name] for name in ('server', 'source', 'target')})
        return
    about = f'/servers/{step["server"]}/migration'
    progress = api.post(about, {'source': step['host'], 'target': step['target_host']})
    failed = 0
    for look in itertools.count(1):
        if not progress['under_way']:
            break
        time.sleep(INTERVAL_S)
        try:
            progress, failed = api.get(about), 0
        except client.UndecidedError:
            failed += 1
            if failed > LOOKS:
                raise
        if look % LOOKS == 0:
            say(f'Waiting for the migration of {step["name"]}, which is '
                f'{progress["status"] or "about to begin"}.')
    if progress['host'] != step['target_host']:
        raise exceptions.CommandError(
            progress['reason'] or f'The server is on {progress["host"]}, and its migration is '
            f'{progress["status"] or "not to be found"}.')
