# SPDX-License-Identifier: Apache-2.0
"""Puts the API together, for ``api-paste.ini``.

:mod:`nova_rt.api.paste_ini` writes its part of that file: Nova's own filters, Keystone's
among them, come before what is made here.
"""

from __future__ import annotations

from typing import Any

import nova.conf

from nova_rt import conf
from nova_rt import policies
from nova_rt.rest import application
from nova_rt.rest import discovery
from nova_rt.rest import routes


def api_factory(global_conf: dict[str, str], **local_conf: str) -> Any:
    """Return the WSGI application behind Keystone: all paths but the root."""
    conf.register_opts(nova.conf.CONF)
    return application.Application(routes.ENDPOINTS, policies.Policy(nova.conf.CONF))


def versions_factory(global_conf: dict[str, str], **local_conf: str) -> Any:
    """Return the WSGI application of the root, which needs no token."""
    return discovery.Discovery()
