# SPDX-License-Identifier: Apache-2.0
"""What Nova's quotas leave to a project and to its user for servers of a flavor.

nova-api refuses a server over them before any host is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import exception
from nova import objects
from nova import quota
from openstack import exceptions as sdk_exceptions
from oslo_limit import exception as limit_exceptions

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import reservation
from nova_rt import shortfalls
from nova_rt.limits import admission
from nova_rt.limits import errors as limit_errors
from nova_rt.limits import keystone

# What Nova's drivers raise: that of unified limits asks Keystone and Placement.
_UNREADABLE = (exception.NovaException, ks_exc.ClientException, sdk_exceptions.SDKException,
               limit_exceptions.SessionInitError, ValueError)
_SHARE = 'share'
_UNITS = {'instances': 'servers', 'cores': 'vCPUs', 'ram': 'MiB of RAM',
          _SHARE: 'of a CPU reserved'}


class UnreadableError(errors.NovaRTError):
    """The quotas are not known; the message says what to do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Quota:
    """One that is not unlimited; as a string, a sentence.

    :ivar owner: ``project`` or ``user``
    :ivar resource: Nova's name of it: instances, cores or ram; share, in fixed point
    :ivar needed: by one server
    """

    owner: str
    resource: str
    limit: int
    used: int
    needed: int

    @property
    def left(self) -> int:
        """How much of the resource is left; a quota may have been lowered below its use."""
        return max(0, self.limit - self.used)

    @property
    def servers(self) -> int:
        """How many more servers it lets run."""
        return self.left // self.needed

    def __str__(self) -> str:
        """Say how much there may be and is."""
        return (f'The {self.owner} may have {self.shown(self.limit)} {_UNITS[self.resource]}, '
                f'and has {self.shown(self.used)}.')

    def shown(self, amount: int) -> str:
        """Return an amount of the resource as people read it."""
        return bandwidth.percent(amount) if self.resource == _SHARE else str(amount)


def shortfalls_of(quotas: Iterable[Quota]) -> list[shortfalls.Shortfall]:
    """Return which quotas leave too little for a single server."""
    return [shortfalls.Shortfall('', 'quota', each.shown(each.needed), each.shown(each.left),
                                 each.shown(each.needed - each.left), str(each))
            for each in quotas if not each.servers]


def of(context: nova_context.RequestContext, flavor: objects.Flavor,
       wanted: reservation.Reservation | None) -> list[Quota]:
    """Return the quotas that a server of this flavor counts for, those of the caller.

    With Nova's unified limits, these are the limits that Keystone has of servers, VCPU and
    MEMORY_MB; Nova's driver for them shows no others. The share's is read by nova-rt.

    :param wanted: the reservation that the server would have
    :returns: none for a caller without a project
    :raises UnreadableError: if Nova cannot tell them
    """
    needed = {'instances': 1, 'cores': flavor.vcpus, 'ram': flavor.memory_mb}
    if not context.project_id:
        return []
    try:
        return (_of_caller(context, needed)
                + (_of_share(context, context.project_id, wanted.share) if wanted else []))
    except limit_errors.UndecidedError as exc:
        raise UnreadableError(str(exc)) from None
    except _UNREADABLE as exc:
        raise UnreadableError(
            f"Nova's quotas cannot be read ({exc}): look at [quota] and [oslo_limit] of "
            'nova.conf, and whether Keystone and Placement answer.') from None


def _of_caller(context: nova_context.RequestContext, needed: Mapping[str, int]) -> list[Quota]:
    found = list(_limited('project', quota.QUOTAS.get_project_quotas(
        context, context.project_id), needed))
    if context.user_id:
        of_project = {each.resource: each.limit for each in found}
        # A user without a quota of their own has the project's, which is told already.
        found += [each for each in _limited('user', quota.QUOTAS.get_user_quotas(
                      context, context.project_id, context.user_id), needed)
                  if each.limit != of_project.get(each.resource)]
    return found


def _limited(owner: str, quotas: Mapping[str, Mapping[str, int]],
             needed: Mapping[str, int]) -> Iterator[Quota]:
    for resource, amount in needed.items():
        limit = quotas[resource]['limit']
        if amount and limit >= 0:
            yield Quota(owner, resource, limit, quotas[resource]['in_use'], amount)


def _of_share(context: nova_context.RequestContext, project: str, share: int) -> list[Quota]:
    limit = keystone.of_project(project)
    if limit is None:
        return []
    return [Quota('project', _SHARE, limit, admission.used(context, project), share)]
