# SPDX-License-Identifier: Apache-2.0
"""Who may see and change what: the defaults, and how they are asked.

The rules are overridden in Nova's own ``policy.yaml``. A reader of the system sees the
whole cloud, a reader of a project its servers, but not on which hosts they are. An administrator
changes reservations, moves vCPUs and has servers migrated. Whoever may create a server may
give it a reservation by hints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_policy import policy

from nova_rt import errors

if TYPE_CHECKING:
    # Late: what lists the rules would load Nova before Nova has chosen its threads.
    from nova import context as nova_context

HOSTS_LIST = 'rt:hosts:list'
HOSTS_SHOW = 'rt:hosts:show'
DEFRAG_PLAN = 'rt:defrag:plan'
DEFRAG_RUN = 'rt:defrag:run'
DEFRAG_PLAN_BETWEEN = 'rt:defrag:plan_between_hosts'
DEFRAG_MIGRATE = 'rt:defrag:migrate'
SERVERS_LIST = 'rt:servers:list'
SERVERS_SHOW = 'rt:servers:show'
SERVERS_ALL = 'rt:servers:all_projects'
SERVERS_HOST = 'rt:servers:host'
SERVERS_USAGE = 'rt:servers:usage'
SERVERS_SET = 'rt:servers:set'
SERVERS_SET_BEYOND = 'rt:servers:set_beyond_flavor'
HINT = 'rt:servers:hint'
HINT_BEYOND = 'rt:servers:hint_beyond_flavor'
HINT_CRITICALITY = 'rt:servers:hint_above_criticality'
PROJECTS_LIST = 'rt:projects:list'
WAITING_LIST = 'rt:waiting:list'
WHY = 'rt:why'
CAPACITY = 'rt:capacity'

_CLOUD = 'rule:rt:cloud_reader'
_PROJECT = 'rule:rt:project_reader or rule:rt:cloud_reader'
_SCOPES = ['system', 'project']

_BASE = [
    policy.RuleDefault(
        'rt:cloud_reader', 'role:admin or (role:reader and system_scope:all)',
        'Sees the whole cloud.'),
    policy.RuleDefault(
        'rt:project_reader', 'role:reader and project_id:%(project_id)s',
        'Sees the servers of one project, but not on which hosts they are.'),
]


def _rule(name: str, check: str, methods: str, path: str,
          description: str) -> policy.DocumentedRuleDefault:
    return policy.DocumentedRuleDefault(
        name=name, check_str=check, description=description, scope_types=_SCOPES,
        operations=[{'method': method, 'path': path} for method in methods.split()])


_RULES = [
    _rule(HOSTS_LIST, _CLOUD, 'GET', '/hosts', 'List hosts.'),
    _rule(HOSTS_SHOW, _CLOUD, 'GET', '/hosts/{host}',
          'Show a host and who holds what on it.'),
    _rule(DEFRAG_PLAN, _CLOUD, 'POST', '/hosts/{host}/plan',
          'Plan moves between the pCPUs of a host that make room.'),
    _rule(DEFRAG_RUN, 'role:admin', 'POST', '/hosts/{host}/moves',
          'Move a vCPU of a server to another pCPU of its host.'),
    _rule(DEFRAG_PLAN_BETWEEN, 'role:admin', 'POST', '/plan',
          'Plan moves and live migrations that make room on one of the hosts.'),
    _rule(DEFRAG_MIGRATE, 'role:admin', 'POST GET', '/servers/{server}/migration',
          "Have Nova migrate any server live to a host, whatever Nova's own policy says, and "
          'see how that goes.'),
    _rule(SERVERS_LIST, _PROJECT, 'GET', '/servers',
          'List the servers of the own project that hold a reservation.'),
    _rule(SERVERS_SHOW, _PROJECT, 'GET', '/servers/{server}', 'Show a server.'),
    _rule(SERVERS_ALL, _CLOUD, 'GET', '/servers', 'See servers of all projects.'),
    _rule(SERVERS_HOST, _CLOUD, 'GET', '/servers', 'See on which host a server is.'),
    _rule(SERVERS_USAGE, _PROJECT, 'GET', '/servers/{server}/usage',
          'Have the host of a server asked what the kernel has given to it.'),
    _rule(SERVERS_SET, 'role:admin', 'PATCH', '/servers/{server}/reservation',
          "Change a server's reservation, to at most its flavor's bandwidth on each vCPU; "
          'for users, allow "role:member and project_id:%(project_id)s", too.'),
    _rule(SERVERS_SET_BEYOND, 'role:admin', 'PATCH', '/servers/{server}/reservation',
          'Change it to more.'),
    _rule(HINT, '@', 'POST', '/servers',
          "Create a server, by Nova's API, with another runtime or period than its flavor's, "
          'by hints; "!" for nobody.'),
    _rule(HINT_BEYOND, '@', 'POST', '/servers',
          "Have more bandwidth on each vCPU than the flavor's by such a hint, or a longer least "
          'runtime, also by a resize to a flavor with less; "!" for nobody.'),
    _rule(HINT_CRITICALITY, 'role:admin', 'POST', '/servers',
          "Have a higher criticality than the flavor's by such a hint, also by a resize to a "
          'flavor with a lower one. A flavor that says none has A.'),
    _rule(WAITING_LIST, _PROJECT, 'GET', '/waiting',
          'List the new servers of the own project that wait for room; those with '
          'rt:servers:all_projects see all.'),
    _rule(PROJECTS_LIST, _PROJECT, 'GET', '/projects',
          'List what projects hold; those with rt:servers:all_projects see all.'),
    _rule(WHY, _CLOUD, 'POST', '/why',
          'Ask what keeps a server from each host, by its name; without '
          'rt:servers:all_projects only for servers and flavors of the own project.'),
    _rule(CAPACITY, _CLOUD, 'POST', '/capacity',
          'Ask how many more servers fit each host, by its name; without '
          'rt:servers:all_projects only for flavors of the own project.'),
]


class NotAllowedError(errors.NovaRTError):
    """The caller's roles do not allow it; the message is for the caller."""


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults, for oslopolicy-sample-generator and the documentation."""
    return [*_BASE, *_RULES]


class Policy:
    """The rules in force: the defaults, and the operator's file over them.

    :param conf: Nova's configuration
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._enforcer = policy.Enforcer(conf)
        self._enforcer.register_defaults(list_rules())

    def allows(self, context: nova_context.RequestContext, rule: str,
               project: str | None = None) -> bool:
        """Return whether a caller may do something.

        :param project: whose it is; the caller's own by default
        """
        target = {'project_id': project or context.project_id}
        return bool(self._enforcer.authorize(
            rule, target, context.to_policy_values(), do_raise=False))
