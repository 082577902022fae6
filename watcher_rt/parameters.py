# SPDX-License-Identifier: Apache-2.0
"""What an audit says: whom room is to be made for, and how much may be done for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watcher_rt import api

Asked = Mapping[str, Any]

_TEXT = {'type': 'string', 'minLength': 1, 'maxLength': 255}

# Without defaults, which Watcher would fill in: the API has them, and what was not said
# cannot be wrong.
SCHEMA: Mapping[str, Any] = {
    'properties': {
        'flavor': {**_TEXT, 'description':
                   'id or name of a flavor that is to get room; without it, hosts are balanced'},
        'hints': {'type': 'object', 'description': 'as a server is created with them'},
        'host': {**_TEXT, 'description':
                 'the only host that may get the room, or is balanced; without it, any'},
        'between_hosts': {'type': 'boolean', 'description':
                          'whether virtual machines may be migrated live, for a flavor; they '
                          'are not unless this is true'},
        'max_moves': {'type': 'integer', 'minimum': 1, 'maximum': 32, 'description':
                      'how many moves and migrations at most; 8 by default'},
        'max_migrations': {'type': 'integer', 'minimum': 1, 'maximum': 8, 'description':
                           'how many of these are migrations, at most; 4 by default'},
        'seconds': {'type': 'integer', 'minimum': 1, 'maximum': 10, 'description':
                    'how long to look for a cheaper plan; 2 by default'}}}


def checked(given: Asked) -> Asked:
    """Return what was said, if it goes together.

    :raises RefusedError: if it does not
    """
    asked = {name: given[name] for name in SCHEMA['properties'] if given.get(name) is not None}
    if 'flavor' not in asked and asked.get('between_hosts'):
        raise api.RefusedError('between_hosts is for a flavor: hosts are balanced one by one.')
    if 'flavor' not in asked and 'hints' in asked:
        raise api.RefusedError('hints are for a flavor: give one, or no hints.')
    if 'flavor' not in asked and 'seconds' in asked:
        raise api.RefusedError('seconds are for a flavor: a balance takes none.')
    if 'max_migrations' in asked and not asked.get('between_hosts'):
        raise api.RefusedError(
            'max_migrations is for between_hosts: without that, nothing is migrated.')
    return asked
