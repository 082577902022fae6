# SPDX-License-Identifier: Apache-2.0
"""The versions of the API, of which a caller names one by a header.

``OpenStack-API-Version: rt 1.0``. Without it, the oldest is meant. A change that a
client can notice is a new version: append it here, and describe it in
``doc/source/reference/api.rst``.
"""

from __future__ import annotations

import microversion_parse
import webob

from nova_rt.rest import errors

# In Keystone's catalogue, and in the header.
SERVICE_TYPE = 'rt'
VERSIONS = ('1.0', '1.1', '1.2', '1.3', '1.4', '1.5', '1.6', '1.7', '1.8', '1.9', '1.10')
HEADER = 'OpenStack-API-Version'


def wanted(request: webob.Request) -> str:
    """Return the version that a request is for.

    :raises RefusedError: if it names none that there is
    """
    try:
        return str(microversion_parse.extract_version(
            request.headers, SERVICE_TYPE, VERSIONS))
    except ValueError:
        raise errors.VersionError(
            f'There is no such version: ask for {VERSIONS[0]} to {VERSIONS[-1]}, with '
            f'the header "{HEADER}: {SERVICE_TYPE} {VERSIONS[-1]}".') from None
    except TypeError:
        raise errors.RefusedError(
            f'The header {HEADER} must name a version, such as "{SERVICE_TYPE} '
            f'{VERSIONS[-1]}".') from None


def has(version: str, since: str) -> bool:
    """Return whether a version has what came with another one."""
    return VERSIONS.index(version) >= VERSIONS.index(since)


def tell(answer: webob.Response, version: str) -> None:
    """Say in an answer which version it has."""
    answer.headers[HEADER] = f'{SERVICE_TYPE} {version}'
    answer.vary = (*(answer.vary or ()), HEADER)
