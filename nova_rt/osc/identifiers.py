# SPDX-License-Identifier: Apache-2.0
"""What people call by a name, and the API by an id."""

from __future__ import annotations

from typing import Any
import uuid

import openstack.exceptions
from osc_lib import exceptions

from nova_rt import wording


def of_server(clients: Any, name: str) -> str:
    """Return the id of a server.

    :param clients: osc-lib's client manager
    :param name: its name or id
    :raises CommandError: if there is none of that name, or more than one
    """
    try:
        return str(uuid.UUID(name))
    except ValueError:
        pass
    compute = clients.sdk_connection.compute
    for scope in ({'all_projects': True}, {}):
        try:
            server = compute.find_server(name, ignore_missing=True, **scope)
        except openstack.exceptions.ForbiddenException:
            # Those of one's own project are left.
            continue
        except openstack.exceptions.DuplicateResource:
            raise exceptions.CommandError(
                f'More than one server is called {wording.shown(name)}: give an id.') from None
        if server is not None:
            return str(server.id)
    raise exceptions.CommandError(
        f'There is no server {wording.shown(name)}: give a name or id that "openstack '
        'server list" shows.')
