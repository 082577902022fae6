# SPDX-License-Identifier: Apache-2.0
"""Servers in a VIM, by Nova's and nova-rt's APIs, with the rights that Tacker has there."""

from collections.abc import Iterator
from collections.abc import Mapping
import datetime
from typing import Any

from keystoneauth1 import exceptions as auth_errors
from tacker.sol_refactored.common import http_client
from tacker.sol_refactored.infra_drivers.openstack import nova_utils

from nova_rt import errors
from nova_rt import reservation
from tacker_rt import raising

MARK = 'nova_rt.raise_asked_at'
"""Item of a server's metadata: when more was last asked for, in ISO 8601."""

_RT = 'rt'
# Since 2.47 a server shows the flavor that it was made of, since 2.61 flavors show extra specs.
_NOVA_VERSION = {'OpenStack-API-Version': 'compute 2.61'}
_RT_VERSION = {'OpenStack-API-Version': 'rt 1.1'}
# nova-rt waits up to Nova's rpc_response_timeout, by default a minute, for the server's host.
_PATIENCE_S = 90
# Else Nova tells an administrator of public flavors, and of those of the own project, only: of
# others they may make servers, too. Other users are told of all that they may use, as ever.
_FLAVORS = 'flavors/detail?is_public=None'
_GONE = 404
_REFUSALS = (400, 403, 409)


class RefusedError(errors.NovaRTError):
    """nova-rt does not give the server more; the message is a sentence."""


class UnansweredError(errors.NovaRTError):
    """Nobody knows whether it was done, or what there is; the message is a sentence."""


class NoEndpointError(UnansweredError):
    """The VIM's catalogue does not say where the API is."""


class Compute:
    """The servers of one VIM.

    Its methods raise UnansweredError if the VIM does not answer.

    :param vim: Tacker's connection to it
    """

    def __init__(self, vim: Any) -> None:
        self._nova = nova_utils.NovaClient(vim).client
        self._rt = http_client.HttpClient(
            self._nova.auth_handle, service_type=_RT, timeout=_PATIENCE_S)

    def show(self, server: str) -> raising.Server | None:
        """Return what a server has and may have, None if it is gone.

        :param server: its uuid
        """
        status, body = self._ask(self._nova, f'servers/{server}', 'GET', _NOVA_VERSION)
        if status == _GONE:
            return None
        shown = _expected(status, body)['server']
        flavor = shown['flavor']
        return raising.Server(
            shown['status'], bool(shown.get('OS-EXT-STS:task_state')),
            _reserved(flavor), _reserved(self._flavor(flavor['original_name'])),
            _time(shown.get('metadata', {}).get(MARK)))

    def mark(self, server: str, now: datetime.datetime) -> None:
        """Write down, in the server itself, that more is asked for."""
        status, body = self._ask(
            self._nova, f'servers/{server}/metadata', 'POST', _NOVA_VERSION,
            {'metadata': {MARK: now.isoformat(timespec='seconds')}})
        _expected(status, body)

    def set_runtime(self, server: str, runtime_us: int) -> None:
        """Change the runtime of a server while it runs, all or nothing.

        :raises RefusedError: if it has no room, or the VIM's user no right
        """
        try:
            status, body = self._ask(self._rt, f'servers/{server}/reservation', 'PATCH',
                                     _RT_VERSION, {'runtime_us': runtime_us})
        except NoEndpointError:
            raise RefusedError(f'The catalogue has no endpoint of type {_RT}, by which '
                               'reservations are changed: create one.') from None
        if status in _REFUSALS:
            raise RefusedError(_sentence(body))
        _expected(status, body)

    def _flavor(self, name: str) -> Mapping[str, Any]:
        """Return a flavor by its name; empty if it is gone."""
        return next((flavor for flavor in self._flavors() if flavor['name'] == name), {})

    def _flavors(self) -> Iterator[dict[str, Any]]:
        """Yield all that the VIM's user may see, page by page."""
        last = ''
        while True:
            status, body = self._ask(
                self._nova, _FLAVORS + (f'&marker={last}' if last else ''), 'GET', _NOVA_VERSION)
            page = _expected(status, body)['flavors']
            yield from page
            if not body.get('flavors_links'):
                return
            last = page[-1]['id']

    def _ask(self, client: Any, path: str, method: str, headers: Mapping[str, str],
             content: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        try:
            answer, body = client.do_request(path, method, headers=dict(headers), body=content)
        except auth_errors.EndpointNotFound as exc:
            raise NoEndpointError(str(exc)) from exc
        except (auth_errors.ClientException, ValueError) as exc:
            raise UnansweredError(f'{method} {path} has no answer: {exc}') from exc
        return int(answer.status_code), body


def _expected(status: int, body: Any) -> dict[str, Any]:
    """Return what was answered, which must be no error."""
    if status >= 400 or not isinstance(body, dict):
        raise UnansweredError(_sentence(body) or f'The answer has status {status}.')
    return body


def _sentence(body: Any) -> str:
    """Return what an error says, as nova-rt or Nova lays it out."""
    try:
        if 'errors' in body:
            return str(body['errors'][0]['detail'])
        return str(next(iter(body.values()))['message'])
    except (TypeError, LookupError, AttributeError, StopIteration):
        return ''


def _reserved(flavor: Mapping[str, Any]) -> reservation.Reservation | None:
    try:
        return reservation.described(flavor.get('extra_specs') or {}, flavor.get('vcpus', 1))
    except reservation.InvalidReservationError:
        return None


def _time(text: str | None) -> datetime.datetime | None:
    """Return the time that a mark says; None if it says none, as its users can write it."""
    try:
        moment = datetime.datetime.fromisoformat(text or '')
    except ValueError:
        return None
    return moment if moment.tzinfo else None
