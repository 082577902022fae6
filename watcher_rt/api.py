# SPDX-License-Identifier: Apache-2.0
"""nova-rt's API, asked in the name of Watcher."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from keystoneauth1 import exceptions as keystone
from openstack import exceptions
from watcher.common import base_helper
from watcher.common import exception

from nova_rt import wording
from nova_rt.sdk import proxy

LONGEST = 200
"""Characters of a sentence: Watcher's database has 255, and Watcher writes some before it."""


class SaidError(exception.WatcherException):
    """What Watcher shows as it is: one sentence, or a few.

    A longer one could not be saved, and what it is about would never be over.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(wording.shortened(sentence, LONGEST))


class RefusedError(SaidError):
    """The API refuses what it was asked."""


class UndecidedError(SaidError):
    """Whether the API did what it was asked is not known."""


class Client(base_helper.BaseConnectionMixin):
    """A connection with the credentials that Watcher has for Nova: section [nova]."""

    def __init__(self) -> None:
        self._create_sdk_connection('nova')
        self.connection.add_service(proxy.SERVICE)

    @property
    def rt(self) -> proxy.Proxy:
        """The proxy; what it raises is for :func:`asking`."""
        found: proxy.Proxy = self.connection.rt
        return found


@contextlib.contextmanager
def asking() -> Iterator[None]:
    """Turn what a request of the proxy raises into Watcher's exceptions.

    :raises RefusedError: if the API refuses, or Keystone does
    :raises UndecidedError: if it does not answer, or does not know
    """
    try:
        yield
    except exceptions.HttpException as exc:
        raised = RefusedError if (exc.status_code or 500) < 500 else UndecidedError
        raise raised(_ended(exc.message)) from exc
    except proxy.IncompleteError as exc:
        raise UndecidedError(_ended(str(exc))) from exc
    except (keystone.EndpointNotFound, keystone.HTTPClientError) as exc:
        raise RefusedError(
            f'nova-rt cannot be asked with what [nova] says: {_ended(str(exc))}') from exc
    except (exceptions.SDKException, keystone.ClientException) as exc:
        raise UndecidedError(
            f'The API of nova-rt does not answer ({type(exc).__name__}).') from exc


def _ended(message: str) -> str:
    """Return a message as a sentence."""
    return f'{message.strip().rstrip(".")}.'
