# SPDX-License-Identifier: Apache-2.0
"""Who may do what, by default."""

from nova import context
from oslo_config import cfg
import pytest

from nova_rt import policies

OWN, OTHER = 'own', 'other'
CALLERS = {
    name: context.RequestContext(name, is_admin=False, **kwargs) for name, kwargs in {
        'admin': {'project_id': OWN, 'roles': ['admin', 'member', 'reader']},
        'reader of the system': {'roles': ['reader'], 'system_scope': 'all'},
        'reader': {'project_id': OWN, 'roles': ['reader']},
        'somebody': {'project_id': OWN, 'roles': ['other']},
    }.items()}
CLOUD = {'admin', 'reader of the system'}
PROJECT = CLOUD | {'reader'}
ALLOWED = {
    policies.HOSTS_LIST: CLOUD, policies.HOSTS_SHOW: CLOUD,
    policies.DEFRAG_PLAN: CLOUD, policies.DEFRAG_RUN: {'admin'},
    policies.DEFRAG_PLAN_BETWEEN: {'admin'}, policies.DEFRAG_MIGRATE: {'admin'},
    policies.SERVERS_LIST: PROJECT, policies.SERVERS_SHOW: PROJECT,
    policies.SERVERS_USAGE: PROJECT,
    policies.SERVERS_ALL: CLOUD, policies.SERVERS_HOST: CLOUD,
    policies.SERVERS_SET: {'admin'}, policies.SERVERS_SET_BEYOND: {'admin'},
    policies.HINT: set(CALLERS), policies.HINT_BEYOND: set(CALLERS),
    policies.HINT_CRITICALITY: {'admin'},
    policies.WAITING_LIST: PROJECT, policies.PROJECTS_LIST: PROJECT,
    policies.WHY: CLOUD, policies.CAPACITY: CLOUD,
}


@pytest.fixture(scope='module')
def policy():
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    return policies.Policy(conf)


@pytest.mark.parametrize('rule', ALLOWED)
def test_who_may(policy, rule):
    assert {name for name, caller in CALLERS.items()
            if policy.allows(caller, rule)} == ALLOWED[rule]


def test_a_reader_of_a_project_is_none_of_another(policy):
    assert not policy.allows(CALLERS['reader'], policies.SERVERS_SHOW, OTHER)


def test_every_rule_is_tested():
    assert set(ALLOWED) == {rule.name for rule in policies.list_rules()
                            if not rule.name.endswith('_reader')}
