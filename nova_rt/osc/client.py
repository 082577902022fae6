# SPDX-License-Identifier: Apache-2.0
"""The client of nova-rt's API: paths in, JSON out, sentences where it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import session as ks_session
from osc_lib import exceptions

from nova_rt.sdk import answers
from nova_rt.sdk.answers import Json


class UndecidedError(exceptions.CommandError):
    """A service did not answer another one: what was asked for may have been done."""


class Client:
    """One user's view.

    :param session: with the user's credentials
    :param version: of the API

    Each method raises osc-lib's CommandError with the API's own sentence.
    """

    def __init__(self, session: ks_session.Session, version: str,
                 interface: str | None = None, region_name: str | None = None) -> None:
        self._named = version if '.' in version else None
        self._api = adapter.Adapter(
            session, service_type='rt', interface=interface, region_name=region_name,
            default_microversion=self._named or f'{version}.0')

    def get(self, path: str, **query: object) -> Json:
        """Return an answer.

        The newest version is asked for unless the user has named one.

        :param query: parameters; those that are None are left out
        """
        return self._ask('GET', path, params={
            name: value for name, value in query.items() if value is not None},
            microversion=self._named or 'latest')

    def pages(self, path: str, what: str, **query: object) -> Iterator[Json]:
        """Yield all entries of a list, page by page.

        :param what: under which name they are in an answer
        """
        def get(marker: str | None) -> Json:
            page = self.get(path, marker=marker, **query)
            _check_complete(page)
            return page
        return answers.pages(get, what)

    def post(self, path: str, body: Mapping[str, object]) -> Json:
        """Return the answer to a body.

        The newest version is asked for unless the user has named one.
        """
        return self._ask('POST', path, json=body, microversion=self._named or 'latest')

    def patch(self, path: str, body: Mapping[str, object], since: str) -> Json:
        """Return the answer to a change.

        :param since: the version that it came with, which is asked for unless the user
            has named one
        """
        return self._ask('PATCH', path, json=body, microversion=self._named or since)

    def _ask(self, method: str, path: str, **kwargs: Any) -> Json:
        try:
            answer = self._api.request(path, method, raise_exc=False, **kwargs)
        except ks_exc.EndpointNotFound:
            raise exceptions.CommandError(
                'The service catalogue has no service "rt": ask your operator whether '
                'the cloud has nova-rt.') from None
        except ks_exc.ConnectFailure as exc:
            raise UndecidedError(f'The API of nova-rt does not answer. {exc}') from None
        if answer.status_code >= 400:
            refused = UndecidedError if answer.status_code >= 500 else exceptions.CommandError
            said = answers.sentence(answer) or f'The answer was "{answer.reason}".'
            raise refused(f'{said} (HTTP {answer.status_code})')
        return dict(answer.json())


def of(clients: Any) -> Client:
    """Return the client among those that osc-lib's manager has made."""
    client: Client = clients.rt
    return client


def _check_complete(page: Json) -> None:
    """Refuse to show a part of a list as the whole.

    :raises CommandError: if a cell did not answer
    """
    lacks = answers.incompleteness(page)
    if lacks:
        raise exceptions.CommandError(lacks)
