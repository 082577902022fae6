# SPDX-License-Identifier: Apache-2.0
"""``openstack rt`` with real services: Keystone, nova-api under uWSGI, Placement."""

import json
import os
import subprocess
import time

import pytest
import sqlalchemy as sa

from nova_rt.testing import copies
from nova_rt.tests.e2e import driver

HOSTS = 1000


@pytest.fixture
def rt(stack):
    """Runs "openstack rt" as a user; returns status, output and errors."""
    def run(*arguments, user='admin', version='1.0'):
        done = subprocess.run(
            [stack.site.script('openstack'), 'rt', *arguments],
            env={**os.environ, **stack.environment(user), 'OS_RT_API_VERSION': version},
            capture_output=True, text=True, timeout=driver.PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr
    return run


@pytest.fixture
def told(rt):
    """Runs "openstack rt" and returns what it tells programs."""
    def run(*arguments, **kwargs):
        status, out, err = rt(*arguments, '-f', 'json', **kwargs)
        assert status == 0, err
        return json.loads(out)
    return run


def test_an_operator_sees_who_holds_what_and_a_user_her_own(rt, told, user, flavors, stack):
    server = user.boot(flavors(40_000), 'busybox-hog')
    (host,) = told('host', 'list')
    assert host['trouble'] == ''
    assert host['used'] >= 0.2

    shown = told('host', 'show', host['host'])
    holders = [pcpu['servers'] for pcpu in shown['pcpus'] if pcpu['servers']]
    assert holders == [{server.id: 0.2}]
    _, drawn, _ = rt('host', 'show', host['host'])
    assert '20%' in drawn

    by_name = told('server', 'show', server.name)
    assert (by_name['id'], by_name['runtime_us'], by_name['host']) == (
        server.id, 40_000, host['host'])
    (usage,) = told('server', 'usage', server.name, user='demo', version='1.9')
    assert (usage['pcpu'], usage['enforced']) == (by_name['pcpus'][0], 0.2)
    (own,) = told('server', 'list', user='demo')
    assert (own['id'], own['host']) == (server.id, None)
    (project,) = told('project', 'list')
    assert (project['project_id'], project['share']) == (
        user.cloud.current_project_id, 0.2)


def test_an_operator_sets_another_reservation_which_a_user_may_not(rt, told, user, flavors):
    server = user.boot(flavors(40_000), 'busybox-hog')
    refused = rt('server', 'set', server.name, '--runtime-us', '20000', user='demo', version='1')
    assert 'Your roles do not allow rt:servers:set' in refused[2]
    changed = told('server', 'set', server.name, '--runtime-us', '60000', version='1')
    assert (changed['runtime_us'], changed['bandwidth']) == (60_000, 0.3)
    assert set(user.container(server.id).shares.values()) == {0.3}
    assert user.show(server.id).status == 'ACTIVE'
    refused = rt('server', 'set', server.name, '--runtime-us', '199000', version='1')
    assert 'can be reserved' in refused[2]
    assert set(user.container(server.id).shares.values()) == {0.3}


def test_why_and_how_many_more_agree_with_what_the_cloud_does(told, user, flavors):
    flavor = flavors(120_000)
    user.boot(flavor)
    *hosts, together = told('capacity', '--flavor', flavor)
    assert together['servers'] == sum(host['servers'] for host in hosts)
    for _ in range(together['servers']):
        user.boot(flavor)
    refused = user.ask(flavor)
    user.settled(refused.id, 'ERROR')
    fault, *reasons = told('why', refused.id)
    assert 'No valid host' in fault['why']
    assert any(reason['what'].startswith('pCPU') for reason in reasons)
    assert told('capacity', '--flavor', flavor)[-1]['servers'] == 0


@pytest.mark.parametrize(('arguments', 'kwargs', 'sentence'), [
    (('host', 'list'), {'user': 'demo'},
     'Your roles do not allow rt:hosts:list in this scope. (HTTP 403)'),
    (('host', 'show', 'nowhere'), {}, "There is no host 'nowhere'"),
    (('why', 'nobody'), {}, "There is no server 'nobody'"),
    (('capacity', '--flavor', 'gold'), {}, "There is no flavor 'gold'"),
    (('host', 'list'), {'version': '0.9'}, '--os-rt-api-version 0.9 is not known'),
    (('host', 'list'), {'version': '1.99'}, 'There is no such version'),
])
def test_what_cannot_be_is_one_sentence(rt, arguments, kwargs, sentence):
    status, _, said = rt(*arguments, **kwargs)
    assert status != 0
    assert sentence in said
    assert 'Traceback' not in said


@pytest.fixture
def thousand_hosts(stack, operator):
    """Copies of the only host, a size that the machine does not have."""
    names = [f'copy-{number:03}' for number in range(HOSTS - 1)]
    cloud = copies.Copies(*(
        sa.create_engine(stack.site.database(name)) for name in ('nova', 'nova_api')))
    (host,) = operator.compute.services(binary='nova-compute')
    try:
        cloud.add_hosts(host.host, names)
        yield names
    finally:
        cloud.remove(names)


def test_a_thousand_hosts_are_listed_page_by_page(thousand_hosts, stack, told, operator):
    spent = {}
    for what, command in (('nothing', lambda: subprocess.run(
            [stack.site.script('openstack'), '--version'], check=True)),
            ('openstack rt host list', lambda: told('host', 'list'))):
        begun = time.monotonic()
        listed = command()
        spent[what] = f'{time.monotonic() - begun:.2f} s'
    print(spent)
    names = [host['host'] for host in listed]
    assert len(names) == HOSTS
    assert set(thousand_hosts) < set(names)

    seen, marker = [], ''
    while True:
        page = operator.session.get(
            f'/hosts?limit=300{marker}', endpoint_filter={'service_type': 'rt'}).json()
        seen += [host['host'] for host in page['hosts']]
        if page['next'] is None:
            break
        marker = f'&marker={page["next"]}'
    assert sorted(seen) == sorted(names)


def test_an_old_version_is_refused_by_the_api_itself(operator):
    answer = operator.session.get(
        '/hosts', endpoint_filter={'service_type': 'rt'}, raise_exc=False,
        headers={'OpenStack-API-Version': 'rt 0.9'})
    assert answer.status_code == 406
    assert 'There is no such version' in answer.json()['errors'][0]['detail']


def test_without_a_token_only_the_root_answers(operator):
    root = operator.session.get_endpoint(service_type='rt')
    versions = operator.session.get(root, authenticated=False).json()['versions']
    assert [version['min_version'] for version in versions] == ['1.0']
    refused = operator.session.get(f'{root}/hosts', authenticated=False, raise_exc=False)
    assert refused.status_code == 401
