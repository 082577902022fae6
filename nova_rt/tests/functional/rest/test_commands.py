# SPDX-License-Identifier: Apache-2.0
"""``openstack rt`` through the real shell, in this process, with the API on Nova's fixtures."""

import contextlib
import io
import json
from unittest import mock

from nova import context
from nova import exception
from openstackclient import shell
from osc_lib import clientmanager
from wsgi_intercept import interceptor

from nova_rt import bandwidth
from nova_rt import policies
from nova_rt.instance import hint_update
from nova_rt.limits import keystone
from nova_rt.testing import keystone_limits
from nova_rt.tests.functional.rest import operators_cloud
from nova_rt.view import nodes

URL = 'http://operator.example/rt'
# By token.
ROLES = {'admin': 'admin,member,reader', 'user': 'member,reader'}


class Authenticated:
    """A WSGI application behind a stand-in for Keystone's middleware."""

    def __init__(self, application, project):
        self._application = application
        self._project = project

    def __call__(self, environ, start_response):
        token = environ.get('HTTP_X_AUTH_TOKEN', '')
        return self._application(dict(
            environ, HTTP_X_AUTH_USER=token, HTTP_X_ROLES=ROLES.get(token, ''),
            HTTP_X_AUTH_PROJECT_ID=self._project), start_response)


def intercept(case):
    """Have the API of a cloud in this process answer at :data:`URL`."""
    application = Authenticated(
        operators_cloud.Checked(case.api_fixture.app()), operators_cloud.OTHER_PROJECT)
    intercepted = interceptor.RequestsInterceptor(
        lambda: application, url='http://operator.example:80/')
    intercepted.install_intercept()
    case.addCleanup(intercepted.uninstall_intercept)


class CommandsCase(operators_cloud.OperatorsCloud):

    def setUp(self):
        super().setUp()
        intercept(self)

    def run_shell(self, *arguments, token='admin', version=None):
        """Return exit status, output and what was said of errors."""
        out, err = io.StringIO(), io.StringIO()
        chosen = [f'--os-rt-api-version={version}'] if version else []
        # The class keeps the client of whoever came first.
        vars(clientmanager.ClientManager)['rt']._handle = None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = shell.OpenStackShell().run([
                    '--os-auth-type', 'admin_token', '--os-endpoint', URL,
                    '--os-token', token, *chosen, 'rt', *arguments])
            except SystemExit as exc:
                status = exc.code
        return status, out.getvalue(), err.getvalue()

    def told(self, *arguments, **kwargs):
        """Return what a command prints for programs."""
        status, out, err = self.run_shell(*arguments, '-f', 'json', **kwargs)
        self.assertEqual((0, ''), (status, err))
        return json.loads(out)

    def assert_refused(self, sentence, *arguments, **kwargs):
        status, out, err = self.run_shell(*arguments, **kwargs)
        self.assertNotEqual(0, status, out)
        self.assertIn(sentence, err)
        self.assertNotIn('Traceback', err)


class TestCommands(CommandsCase):

    def test_each_sees_what_is_theirs_to_see(self):
        self._check_what_an_operator_sees()
        self._check_what_is_drawn()
        self._check_what_a_user_sees()

    def _check_what_an_operator_sees(self):
        hosts = self.told('host', 'list')
        self.assertEqual(['host1', 'host2'], [host['host'] for host in hosts])
        self.assertEqual([3.8, 1.4, 0.65], [
            hosts[0][name] for name in ('share', 'used', 'most_left')])
        host = self.told('host', 'show', 'host2')
        self.assertEqual(
            {self.batch['id']: 0.5}, host['pcpus'][0]['servers'])
        servers = self.told('server', 'list', '--host', 'host1')
        self.assertEqual({'web', 'db'}, {server['name'] for server in servers})
        server = self.told('server', 'show', self.db['id'])
        self.assertEqual((40000, 0.4, 'host1'), (
            server['runtime_us'], server['bandwidth'], server['host']))
        self.assertEqual(2, len(server['pcpus']))
        usage = self.told('server', 'usage', self.db['id'])
        self.assertEqual(server['pcpus'], [row['pcpu'] for row in usage])
        self.assertEqual([0.4, 0.4], [row['enforced'] for row in usage])
        projects = self.told('project', 'list')
        self.assertEqual([1.4, 0.5], [project['share'] for project in projects])

    def _check_what_is_drawn(self):
        status, out, _ = self.run_shell('host', 'show', 'host1')
        self.assertEqual(0, status)
        for line in ('web 30%', 'db 40%', 'left 65%', 'cap 95%'):
            self.assertIn(line, out)
        status, out, _ = self.run_shell('host', 'list', '-f', 'csv')
        self.assertIn('"host1","container","hcbs-multi",4,"0.95","3.8","1.4","0.65",""', out)

    def test_why_and_how_many_more_are_told(self):
        rows = self.told('why', self.large['id'])
        self.assertEqual('fault', rows[0]['what'])
        self.assertIn('No room on', rows[0]['why'])
        self.assertEqual({'', 'host1', 'host2'}, {row['host'] for row in rows})
        fits = self.told('why', '--flavor', self.flavor)
        self.assertEqual({'The server fits now.'}, {row['why'] for row in fits})
        lacks = self.told('why', '--flavor', self.flavor,
                          '--hint', 'cpu.rt_runtime_us=70000')
        self.assertIn(('host1', 'pCPU 0-1', '5%'), {
            (row['host'], row['what'], row['missing']) for row in lacks})
        rows = self.told('capacity', '--flavor', self.flavor)
        self.assertEqual([('host1', 3), ('host2', 5), ('', 8)], [
            (row['host'], row['servers']) for row in rows])

    def test_a_cell_that_does_not_answer_is_told(self):
        silent = ('No answer came from the database of cell1, so the hosts there are left out: '
                  'try again later.')
        with mock.patch.object(nodes, 'of_cell', side_effect=exception.DBNotAllowed(binary='it')):
            (why,) = self.told('why', '--flavor', self.flavor)
            (capacity,) = self.told('capacity', '--flavor', self.flavor)
            (old,) = self.told('capacity', '--flavor', self.flavor, version='1.1')
        self.assertEqual(('', 'cell', silent), (why['host'], why['what'], why['why']))
        self.assertEqual(('', 0, 'All hosts together, without those of cell1, whose database '
                                 'did not answer.'), tuple(
            capacity[name] for name in ('host', 'servers', 'limit')))
        self.assertEqual('All hosts together.', old['limit'])

    def test_who_waits_is_told_since_when_and_why(self):
        self.assertEqual([], self.told('waiting', 'list'))
        self.flags(wait_for_room=600, group='rt')
        server = self.api.post_server({'server': self._build_server(
            flavor_id=self.make_flavor(80, 4, **{'hw:cpu.rt_criticality': 'C'}),
            networks='none', name='patient')})
        row, = self.eventually(lambda: self._waiting(1))
        self.assertEqual((1, server['id'], 'patient', 'C'), tuple(
            row[name] for name in ('place', 'id', 'name', 'criticality')))
        self.assertIn('No room on', row['why'])
        self.assertLess(row['since'], row['until'])
        told, = (each['why'] for each in self.told('why', server['id'])
                 if each['what'] == 'waiting')
        self.assertIn(f'until {row["until"]}, and is number 1', told)
        # The server is of the project that boots; the token's project is another one.
        self.assertEqual([], self.told('waiting', 'list', token='user'))
        self.assert_refused('your own project only', 'waiting', 'list', '--project-id',
                            row['project_id'], token='user')
        self.assert_refused('came with version 1.6', 'waiting', 'list', version='1.5')
        self._delete_server(server)
        self.assertEqual([], self.told('waiting', 'list'))

    def _waiting(self, count):
        rows = self.told('waiting', 'list')
        self.assertEqual(count, len(rows))
        return rows

    def test_a_quota_is_told_before_any_host(self):
        # batch, of the same project, has 1 vCPU.
        self.flags(cores=2, group='quota')
        rows = self.told('why', '--flavor', self.flavor)
        self.assertEqual(('', 'quota', '2', '1', '1',
                          'The project may have 2 vCPUs, and has 1.'), tuple(
            rows[0][name] for name in ('host', 'what', 'needed', 'left', 'missing', 'why')))
        rows = self.told('capacity', '--flavor', self.flavor)
        self.assertEqual(('', 0, 'quota: The project may have 2 vCPUs, and has 1.'), tuple(
            rows[-1][name] for name in ('host', 'servers', 'limit')))
        # An older version does not tell, and the client does not mind.
        rows = self.told('why', '--flavor', self.flavor, version='1.0')
        self.assertEqual({'The server fits now.'}, {row['why'] for row in rows})

    def test_another_reservation_is_set_while_a_server_runs(self):
        server = self.told('server', 'set', self.db['id'], '--runtime-us', '60000')
        self.assertEqual((60000, 100000, 0.6, 'host1'), tuple(
            server[name] for name in ('runtime_us', 'period_us', 'bandwidth', 'host')))
        self._run_periodics()
        host = self.told('host', 'show', 'host1')
        self.assertEqual({0.6}, {pcpu['servers'][self.db['id']] for pcpu in host['pcpus']
                                 if self.db['id'] in pcpu['servers']})
        # It shares web's pCPUs.
        self.boot(self.flavor, name='mail', az='nova:host1')
        self.assert_refused('40% more is needed on pCPU 0, which has 35% left',
                            'server', 'set', self.web['id'], '--runtime-us', '70000')
        self.assert_refused('longer than the period', 'server', 'set', self.web['id'],
                            '--runtime-us', '100001')
        self.assert_refused('but at most 95% can be reserved', 'server', 'set', self.web['id'],
                            '--runtime-us', '96000')
        self.assert_refused('PATCH of this path came with version 1.1', 'server', 'set',
                            self.web['id'], version='1.0')
        self.assert_refused('do not allow rt:servers:set', 'server', 'set',
                            self.batch['id'], '--runtime-us', '2000', token='user')
        self.assertEqual(0.3, self.told('server', 'show', self.web['id'])['bandwidth'])

    def test_keystones_limit_of_the_project_holds_for_a_change_as_well(self):
        limits = self.useFixture(keystone_limits.KeystoneLimits(
            self.api.project_id, bandwidth.fraction_to_bandwidth(1.5)))
        self.told('server', 'set', self.web['id'], '--runtime-us', '35000')
        self.assert_refused(
            'The project may have 150% of a CPU reserved, and has 150%: 2% more is over its limit',
            'server', 'set', self.web['id'], '--runtime-us', '36000')
        limits.of_project[keystone.RESOURCE] = 0
        self.told('server', 'set', self.web['id'], '--runtime-us', '30000')
        self.assert_refused('has 140%', 'server', 'set', self.web['id'], '--runtime-us', '31000')

    def test_what_a_shrunk_server_gets_back_counts_for_the_limit(self):
        self.useFixture(keystone_limits.KeystoneLimits(
            self.api.project_id, bandwidth.fraction_to_bandwidth(1.5)))
        hint_update.shrink(context.get_admin_context(), self.web['id'], 20_000)
        self.assert_refused('has 140%: 12% more', 'server', 'set', self.web['id'],
                            '--runtime-us', '36000')
        self.told('server', 'set', self.web['id'], '--runtime-us', '35000')

    def test_what_is_refused_is_one_sentence(self):
        self.assert_refused(
            'Your roles do not allow rt:hosts:list in this scope. (HTTP 403)',
            'host', 'list', token='user')
        self.assert_refused("There is no host 'nowhere'", 'host', 'show', 'nowhere')
        self.assert_refused("There is no flavor 'gold'", 'capacity', '--flavor', 'gold')
        self.assert_refused(
            'There is no server 12345678-1234-4234-8234-123456789012',
            'why', '12345678-1234-4234-8234-123456789012')
        self.assert_refused('There is no such version: ask for 1.0 to 1.10',
                            'host', 'list', version='1.99')
        self.assert_refused('--os-rt-api-version 0.9 is not known here',
                            'host', 'list', version='0.9')

    def _check_what_a_user_sees(self):
        (server,) = self.told('server', 'list', token='user')
        self.assertEqual(('batch', None), (server['name'], server['host']))
        (project,) = self.told('project', 'list', token='user')
        self.assertEqual(0.5, project['share'])


class TestOpenPolicy(CommandsCase):
    """The operator lets members of a project change its reservations."""

    def setUp(self):
        opened = policies._rule(
            policies.SERVERS_SET, 'role:member and project_id:%(project_id)s', 'PATCH',
            '/servers/{server}/reservation', 'Change it.')
        rules = [opened if rule.name == opened.name else rule for rule in policies._RULES]
        with mock.patch.object(policies, '_RULES', rules):
            super().setUp()

    def test_users_set_what_their_flavor_allows_where_the_operator_lets_them(self):
        for runtime_us in (20_000, 50_000):
            server = self.told('server', 'set', self.batch['id'], '--runtime-us',
                               str(runtime_us), token='user')
            self.assertEqual((runtime_us, None), (server['runtime_us'], server['host']))
        self.assert_refused('reserves 50% for each vCPU, and your roles do not allow more',
                            'server', 'set', self.batch['id'], '--runtime-us', '50001',
                            token='user')
        self.api.post_server_action(self.batch['id'], {'lock': {}})
        self.assert_refused('The server is locked: unlock it first.', 'server', 'set',
                            self.batch['id'], '--runtime-us', '2000', token='user')
        self.assert_refused(f'There is no server {self.web["id"]}', 'server', 'set',
                            self.web['id'], '--runtime-us', '2000', token='user')

    def test_what_the_flavor_allows_stays_the_same_when_the_server_is_migrated(self):
        self.told('server', 'set', self.batch['id'], '--runtime-us', '20000', token='user')
        self._migrate_server(self.batch)
        self._confirm_resize(self.batch)
        self.assert_refused('reserves 50% for each vCPU, and your roles do not allow more',
                            'server', 'set', self.batch['id'], '--runtime-us', '50001',
                            token='user')
        server = self.told('server', 'set', self.batch['id'], '--runtime-us', '50000',
                           token='user')
        self.assertEqual(50_000, server['runtime_us'])
