# SPDX-License-Identifier: Apache-2.0
"""Exceptions that reach an operator's command, as one sentence each."""

from keystoneauth1 import exceptions as ks_exc
from nova import exception
import oslo_messaging

from nova_rt import errors
from nova_rt.db import problems


def sentence(exc: Exception, server: str = '') -> str | None:
    """Return what is wrong and what to do, None for what nobody foresaw.

    :param server: the id of the server that the command is about
    """
    if isinstance(exc, errors.NovaRTError):
        return str(exc)
    if isinstance(exc, exception.ComputeHostNotFound):
        return (f'{exc.format_message()} Run this on a compute host, with the '
                'nova.conf of nova-rt-compute.')
    if isinstance(exc, exception.NotFound) and server:
        return (f'Nova knows no server {server}: give the id that "openstack '
                'server list --all-projects" shows.')
    if isinstance(exc, exception.UnexpectedTaskStateError):
        return 'Another operation on the server was faster: run this again.'
    # A module that is missing is a database's driver only where one is connected.
    if isinstance(exc, problems.DATABASE_ERRORS) and not isinstance(
            exc, ImportError):
        return f'A database cannot be read: {problems.sentence(exc)}.'
    if isinstance(exc, oslo_messaging.MessagingException):
        return (f'Nova cannot be asked ({type(exc).__name__}): check '
                "transport_url and that Nova's services run, then run this "
                'again.')
    if isinstance(exc, (ks_exc.ClientException,
                        exception.ResourceProviderAllocationRetrievalFailed)):
        return f'Placement cannot be asked: {exc}'
    return None
