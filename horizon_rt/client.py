# SPDX-License-Identifier: Apache-2.0
"""nova-rt's API, asked in the name of the user who looks, and what to say if it refuses."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import logging
from typing import Generic
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest
from horizon import exceptions as horizon_exc
from horizon.utils import memoized
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import session
from keystoneauth1 import token_endpoint
from openstack import connection
from openstack import exceptions as sdk_exc
from openstack_auth import utils as auth_utils
from openstack_dashboard.api import base
import requests

from nova_rt import errors
from nova_rt.sdk import proxy

LOG = logging.getLogger(__name__)
T = TypeVar('T')

SERVICE = 'rt'
"""The type of the service in the catalogue."""

PATIENCE_S = 10
"""How long each request to nova-rt may take. What waits takes one of Horizon's threads."""

_FAILED = 500


class UnansweredError(errors.NovaRTError):
    """There is no answer to show; the message is a sentence for the page.

    :ivar status: of the answer by HTTP; None if there was none
    """

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status

    @property
    def is_refusal(self) -> bool:
        """Whether the API has answered, and done nothing."""
        return self.status is not None and self.status < _FAILED


@dataclasses.dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What a part of a page shows.

    :ivar value: None if there is none
    :ivar trouble: a sentence that says why there is none
    :ivar status: see :class:`UnansweredError`
    """

    value: T | None = None
    trouble: str = ''
    status: int | None = None

    @property
    def is_away(self) -> bool:
        """Whether the API has not answered at all."""
        return bool(self.trouble) and self.status is None


def ask(request: HttpRequest, question: Callable[[proxy.Proxy], T]) -> Answer[T]:
    """Return the API's answer, or why there is none; a page has other parts to show."""
    try:
        with sentences():
            return Answer(question(connect(request)))
    except UnansweredError as exc:
        return Answer(trouble=str(exc), status=exc.status)


@memoized.memoized
def connect(request: HttpRequest) -> proxy.Proxy:
    """Return the API for the user of a session, with the session's token.

    As Horizon's own clients do, it asks at the address that is in the session's catalogue,
    and is made once for each request.

    :raises horizon.exceptions.ServiceCatalogException: if that has no nova-rt
    """
    insecure = settings.OPENSTACK_SSL_NO_VERIFY
    cloud = connection.Connection(session=session.Session(
        token_endpoint.Token(base.url_for(request, SERVICE), request.user.token.id),
        verify=not insecure and (settings.OPENSTACK_SSL_CACERT or True),
        original_ip=auth_utils.get_client_ip(request), timeout=PATIENCE_S),
        region_name=request.user.services_region, app_name='horizon')
    cloud.add_service(proxy.SERVICE)
    found: proxy.Proxy = getattr(cloud, SERVICE)
    return found


@contextlib.contextmanager
def sentences(who: str = 'nova-rt') -> Iterator[None]:
    """Turn whatever keeps an API from answering in here into one sentence.

    Horizon would take an error of openstacksdk that reaches it for an expired session, and
    log the user out.

    :param who: whose API it is
    :raises UnansweredError: then
    """
    try:
        yield
    except sdk_exc.HttpException as exc:
        LOG.info('An API refused a request of a page: %s', exc)
        raise UnansweredError(_refusal(exc, who), exc.status_code) from exc
    except sdk_exc.SDKException as exc:
        raise UnansweredError(exc.message) from exc
    except horizon_exc.ServiceCatalogException as exc:
        raise UnansweredError(
            f'The service catalogue has no address of {who}: ask your operator whether the '
            'cloud has it.') from exc
    except horizon_exc.HorizonException as exc:
        raise UnansweredError(f'Horizon may not ask {who} for that in your name.') from exc
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        # What is no JSON is a RequestException, too.
        LOG.exception('An answer is not one of %s', who)
        raise UnansweredError(
            f'What answers at the address of {who} in the service catalogue is something else, '
            'or of another release: ask your operator.') from exc
    except (ks_exc.ClientException, requests.RequestException) as exc:
        LOG.warning('The API of %s does not answer: %s', who, exc)
        raise UnansweredError(
            f'The API of {who} does not answer at the address in the service catalogue: try '
            'again later, or ask your operator.') from exc


def _refusal(exc: sdk_exc.HttpException, who: str) -> str:
    """Return what a refusal says to its reader."""
    if exc.status_code == 401:
        return 'Your session has expired: log in again.'
    said = str(exc.message or '')
    # Without a sentence of its own, openstacksdk names the class.
    if not said or said.startswith(type(exc).__name__):
        said = str(exc.details or '')
    if exc.status_code is not None and exc.status_code >= _FAILED and not said.endswith('.'):
        return (f'The API of {who} has failed to answer: try again later, or ask your '
                'operator to look into its log.')
    return said or f'The API of {who} has refused to answer, and does not say why.'
