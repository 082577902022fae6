# SPDX-License-Identifier: Apache-2.0
"""``openstack rt defrag`` on Nova's fixtures: moves that make room are planned, and made."""

import io
from unittest import mock

from keystoneauth1 import session
from keystoneauth1 import token_endpoint
from nova import exception
from nova import objects
from osc_lib import exceptions
import oslo_messaging
import pytest

from nova_rt.instance import residents
from nova_rt.osc import client
from nova_rt.osc import defrag
from nova_rt.tests.functional.rest import test_commands


class DefragCase(test_commands.CommandsCase):
    """On host1, web has 30% of pCPUs 0 and 1, and db 40% of 2 and 3.

    Two vCPUs of 70% find room once web's are on db's pCPUs.
    """

    def setUp(self):
        super().setUp()
        self.room = ('--flavor', self.flavor, '--hint', 'cpu.rt_runtime_us=70000')

    def run_command(self, kind, *arguments, host='host1', token='admin', version='1'):
        """Return what a command returns, and what it says meanwhile."""
        self.said = io.StringIO()
        command = kind(mock.Mock(stderr=self.said), None)
        command.app.client_manager.rt = client.Client(session.Session(
            auth=token_endpoint.Token(test_commands.URL, token)), version)
        return command.take_action(
            command.get_parser('rt').parse_args(['--host', host, *arguments]))

    def planned(self, *arguments, **kwargs):
        """Return a plan, as programs read it."""
        names, values = self.run_command(defrag.Plan, *arguments, **kwargs)
        return {name: value.machine_readable() if hasattr(value, 'machine_readable') else value
                for name, value in zip(names, values, strict=True)}

    def made(self, *arguments, **kwargs):
        """Make the moves; return them."""
        _, rows = self.run_command(defrag.Run, *arguments, **kwargs)
        return [row[1:4] for row in rows]

    def assert_refused(self, sentence, kind, *arguments, **kwargs):
        with pytest.raises(exceptions.CommandError) as refused:
            self.run_command(kind, *arguments, **kwargs)
        self.assertIn(sentence, str(refused.value))

    def boot_large(self, state='ACTIVE'):
        return self.boot(self.flavor, state=state, az='nova:host1',
                         hints={'cpu.rt_runtime_us': '70000'})


class TestDefrag(DefragCase):

    def test_no_room_is_made_for_servers_of_the_other_kind(self):
        flavor = self.make_flavor(70, 1, **{'trait:CUSTOM_RT_VIRTUAL_MACHINES': 'required'})
        self.assert_refused(
            'host1 does not run virtual machines, but the flavor has '
            'trait:CUSTOM_RT_VIRTUAL_MACHINES=required', defrag.Plan, '--flavor', flavor)

    def test_moves_let_in_what_was_refused(self):
        self.assertEqual([], self.made('--flavor', self.flavor))
        self.assertEqual('0 moves. There is room already, so nothing need be moved.\n',
                         self.said.getvalue())
        self.boot_large('ERROR')
        plan = self.planned(*self.room)
        self.assertEqual([('web', 0.3), ('web', 0.3)], [
            (move['name'], move['bandwidth']) for move in plan['moves']])
        self.assertEqual([0.95, 0.95, 0.25, 0.25], [
            pcpu['left_after'] for pcpu in plan['pcpus']])
        self.assertEqual((0, 1), self.pcpus_of(self.web))

        moves = self.made(*self.room)
        self.assertEqual([(move['name'], move['source'], move['target'])
                          for move in plan['moves']], moves)
        self.assertEqual((2, 3), self.pcpus_of(self.web))
        self.assert_settled(self.web, self.db, self.batch)
        large = self.boot_large()
        self.assertEqual((0, 1), self.pcpus_of(large))
        self.assert_settled(self.web, self.db, self.batch, large)
        self.assert_audited()

    def test_a_host_is_balanced(self):
        mail = self.boot(self.make_flavor(20, 2), name='mail', az='nova:host1')
        self._delete_server(self.db)
        self.assertEqual((0, 1), self.pcpus_of(mail))
        plan = self.planned()
        self.assertEqual([0.65, 0.65, 0.75, 0.75], sorted(
            pcpu['left_after'] for pcpu in plan['pcpus']))
        self.assertEqual(2, len(self.made()))
        self.assertEqual([], self.made())
        self.assertIn('0 moves. No moves that balance the host better', self.said.getvalue())
        self.assert_settled(self.web, mail, self.batch)

class TestStops(DefragCase):

    def refusing(self, refusal, after):
        """Let the host refuse moves after so many."""
        # Nova keeps a manager's methods where its messages come in.
        tracker = self.computes['host1'].manager.rt
        answers = [tracker.move_vcpu] * after

        def answer(*args, **kwargs):
            if not answers:
                raise refusal
            answers.pop()(*args, **kwargs)
        return mock.patch.object(tracker, 'move_vcpu', answer)

    def test_what_a_refusal_left_undone_is_planned_anew(self):
        refusal = exception.MigrationError(reason='the kernel is busy')
        with self.refusing(refusal, after=1):
            self.assert_refused(
                'The server stays as it was: the kernel is busy. (HTTP 409) Run this again',
                defrag.Run, *self.room)
        self.assertEqual(2, len(self.said.getvalue().splitlines()))
        self.assert_settled(self.web, self.db, self.batch)
        self.assertEqual(1, len(self.made(*self.room)))
        self.assertEqual((2, 3), self.pcpus_of(self.web))

    def test_a_host_that_does_not_answer_is_unavailable(self):
        with self.refusing(oslo_messaging.MessagingTimeout(), after=0):
            self.assert_refused(
                'nova-rt-compute on host1 does not answer: look again where the vCPU is when '
                'it does. (HTTP 503)', defrag.Run, *self.room)
        self.assert_settled(self.web, self.db, self.batch)

    def test_a_server_with_something_under_way_stays_where_it_is(self):
        instance = self.instance_of(self.web)
        instance.task_state = 'rebooting'
        instance.save()
        moved = self.planned(*self.room)['moves']
        self.assertEqual({'db'}, {move['name'] for move in moved})
        api = client.Client(session.Session(
            auth=token_endpoint.Token(test_commands.URL, 'admin')), '1.3')
        with pytest.raises(exceptions.CommandError, match='cannot be moved between pCPUs now'):
            api.post('/hosts/host1/moves', {
                'server': self.web['id'], 'source': 0, 'target': 2})

    def test_a_server_that_goes_meanwhile_is_told(self):
        with mock.patch.object(residents, 'find', return_value=None), mock.patch.object(
                objects.InstanceMapping, 'get_by_instance_uuid',
                side_effect=exception.InstanceMappingNotFound(uuid=self.web['id'])):
            self.assert_refused('There is no server', defrag.Run, *self.room)


class TestRefusals(DefragCase):

    def report(self, **stats):
        """Let host1 have reported something else of itself."""
        node = objects.ComputeNode.get_first_node_by_host_for_old_compat(
            self.cell_context(), 'host1')
        node.stats = {**node.stats, **stats}
        node.save()

    def test_what_is_refused_is_one_sentence(self):
        self.assert_refused('do not allow rt:defrag:plan in this scope. (HTTP 403)',
                            defrag.Plan, token='user')
        self.assert_refused('came with version 1.3', defrag.Plan, version='1.2')
        self.assert_refused("There is no host 'nowhere'", defrag.Plan, host='nowhere')
        self.start('host3', capacity=[0] * 4)
        self.assert_refused('host3 offers no CPU reservations.', defrag.Plan, host='host3')
        self.report(rt_occupancy='every')
        self.assert_refused('Moves make no room on this host', defrag.Plan)

    def test_what_is_held_is_told_by_the_servers_not_by_a_report(self):
        self.report(rt_used='0*4')
        self.assertEqual(2, len(self.planned(*self.room)['moves']))
