# SPDX-License-Identifier: Apache-2.0
"""Servers that wait for room."""

from __future__ import annotations

import datetime

from nova_rt.rest.endpoints import Call
from nova_rt.rest.endpoints import Json
from nova_rt.rest.handlers import servers
from nova_rt.view import waiting


def list_waiting(call: Call) -> Json:
    """Return who waits, as far as the caller may see, in the order of their turns."""
    project = servers.scope(call).project
    return {'waiting': [of_entry(each) for each in waiting.entries(call.admin, project)]}


def of_entry(each: waiting.Entry) -> Json:
    """Return a server that waits as the API has it."""
    mark = each.mark
    return {'server': each.server, 'name': each.name, 'project_id': each.project,
            'criticality': mark.criticality or None, 'place': each.place,
            'since': _time(mark.since_s), 'until': _time(mark.until_s),
            'reason': mark.reason}


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).strftime(
        '%Y-%m-%dT%H:%M:%SZ')
