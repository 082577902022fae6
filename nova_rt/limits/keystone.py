# SPDX-License-Identifier: Apache-2.0
"""The share that Keystone lets a project have.

The resource is named as Nova names those that Placement counts, and belongs to Nova's
endpoint: ``openstack registered limit create --service nova --default-limit 2097152
class:CUSTOM_RT_SHARE`` lets each project have two CPUs.
"""

import functools

from keystoneauth1 import exceptions as ks_exc
from nova.limit import utils
from openstack import exceptions as sdk_exceptions
from oslo_limit import exception as limit_exceptions
from oslo_limit import limit

from nova_rt import shares
from nova_rt.limits import errors

RESOURCE = f'class:{shares.RESOURCE_CLASS}'


def of_project(project: str) -> int | None:
    """Return the limit of a project in fixed point, None if it has none.

    Read anew each time, as Nova reads its own.

    :raises UndecidedError: if Keystone cannot be asked
    """
    if not utils.use_unified_limits():
        return None
    try:
        # None is for every resource, which oslo.limit's types forget: of one that is named and
        # not registered it says 0. A project's own limit goes before the registered one.
        limits = {
            **dict(_enforcer().get_registered_limits(None)),  # type: ignore[arg-type]
            **dict(_enforcer().get_project_limits(project, None))}  # type: ignore[arg-type]
    except (ks_exc.ClientException, sdk_exceptions.SDKException,
            limit_exceptions.SessionInitError, ValueError) as exc:
        raise errors.UndecidedError(
            f"The project's limit of {RESOURCE} cannot be read ({exc}): look at [oslo_limit] of "
            'nova.conf, and whether Keystone answers.') from None
    most = limits.get(RESOURCE, -1)
    return most if most >= 0 else None


@functools.cache
def _enforcer() -> limit.Enforcer:
    """Return oslo.limit's reader of limits, which looks its endpoint up when it is made."""
    # Usage is counted elsewhere.
    return limit.Enforcer(lambda project, resources: {}, cache=False)
