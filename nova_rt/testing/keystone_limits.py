# SPDX-License-Identifier: Apache-2.0
"""A Keystone that limits the share of projects: oslo.limit's own fake, and Nova that asks it."""

import fixtures
import nova.conf
from oslo_limit import fixture as limit_fixture

from nova_rt.limits import keystone

_UNLIMITED = ('servers', 'class:VCPU', 'class:MEMORY_MB', 'class:DISK_GB')


class KeystoneLimits(fixtures.Fixture):
    """Limits the share of a project, and nothing else.

    :param project: its id
    :param share: the limit that is registered for all projects, in fixed point
    :ivar registered: by resource, the limits for all projects; to be changed
    :ivar of_project: those of the project, which go before them; to be changed
    """

    def __init__(self, project: str, share: int) -> None:
        super().__init__()
        self.registered = {**dict.fromkeys(_UNLIMITED, -1), keystone.RESOURCE: share}
        self.of_project: dict[str, int] = {}
        self._limits = limit_fixture.LimitFixture(self.registered, {project: self.of_project})

    def _setUp(self) -> None:
        nova.conf.CONF.set_override('driver', 'nova.quota.UnifiedLimitsDriver', group='quota')
        self.addCleanup(nova.conf.CONF.clear_override, 'driver', group='quota')
        self.useFixture(self._limits)
        keystone._enforcer.cache_clear()
        self.addCleanup(keystone._enforcer.cache_clear)
