# SPDX-License-Identifier: Apache-2.0
"""Asks the compute node of a server to change or show it, and tells a refusal in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import rpcapi
import oslo_messaging

from nova_rt import errors
from nova_rt.instance import holdings

_VERSION = '6.0'


class RefusedError(errors.NovaRTError):
    """The server stays as it was; the message is one sentence."""


class UnansweredError(RefusedError):
    """The server's host did not answer, or failed at it."""


@contextlib.contextmanager
def located(context: nova_context.RequestContext, server: str,
            ) -> Iterator[tuple[nova_context.RequestContext, objects.Instance]]:
    """Give the context of a server's cell, and the server as it is there.

    :param context: of an administrator
    :param server: its uuid
    :raises RefusedError: if it is in no cell
    :raises InstanceMappingNotFound, InstanceNotFound: if Nova does not know it
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    if mapping.cell_mapping is None:
        raise RefusedError('The server is on no host yet.')
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        yield cell, holdings.fetch(cell, server)


def call(context: nova_context.RequestContext, instance: objects.Instance, method: str,
         unanswered: str, undone: str | None = None, **arguments: object) -> object:
    """Let a method of the server's compute manager change it, and wait for the end.

    :param context: of an administrator, in the server's cell
    :param unanswered: the end of the sentence that says that no answer came
    :param undone: when the host undoes what it has begun; None if the method changes nothing
    :returns: what the method returns
    :raises UnansweredError: if no answer came, or it was none of the method's own
    :raises RefusedError: if the server stays as it was
    :raises NotFound: if it has gone meanwhile
    """
    if not instance.host:
        raise RefusedError('The server is on no host: unshelve it first.')
    with _refusals_explained(instance.host, unanswered, undone):
        answer: object = rpcapi.ComputeAPI().router.client(context).prepare(
            server=instance.host, version=_VERSION).call(
                context, method, instance=instance, **arguments)
        return answer


@contextlib.contextmanager
def _refusals_explained(host: str, unanswered: str, undone: str | None) -> Iterator[None]:
    """Say in a sentence what the host answered, or that it did not.

    :raises RefusedError: in place of what was raised
    """
    try:
        yield
    except (exception.ResizeError, exception.MigrationError) as exc:
        raise RefusedError(
            f'The server stays as it was: {exc.kwargs["reason"]}.'
            if 'reason' in exc.kwargs else str(exc)) from None
    except exception.InternalError as exc:
        raise UnansweredError(str(exc)) from None
    except (oslo_messaging.MessagingTimeout, oslo_messaging.MessageDeliveryFailure):
        raise UnansweredError(
            f'nova-rt-compute on {host} does not answer: {unanswered}.') from None
    except exception.NotFound:
        raise
    except (oslo_messaging.RemoteError, exception.NovaException) as exc:
        rest = '' if undone is None else f' What it has begun it undoes {undone}.'
        raise UnansweredError(
            f'nova-rt-compute on {host} could not do it ({_kind(exc)}): see '
            f'its log, and upgrade it if it is older than this.{rest}') from None


def _kind(exc: Exception) -> str:
    """Return which exception was raised there: Nova's own arrive as themselves, or nearly."""
    if isinstance(exc, oslo_messaging.RemoteError):
        return str(exc.exc_type)
    return type(exc).__name__.removesuffix('_Remote')
