# SPDX-License-Identifier: Apache-2.0
"""A service that is killed between any two of its writes while it builds, shelves, deletes ..."""

import itertools

import fixtures
from nova import exception

from nova_rt.testing import full
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import test_moves


class OperationsTestCase(killed.AtAnyWrite, test_moves.MovesTestCase):
    """Whatever became of the server, all say the same of it, and deleted, it leaves nothing.

    Nova ends some operations when the service starts. Others leave the server in ERROR, or
    locked by its task state, until an operator resets that: this is the same without nova-rt.
    """

    HOSTS = 1

    def setUp(self):
        super().setUp()
        self.flags(shelved_offload_time=0)
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.flavor = self.make_flavor(50, 2)

    def assert_unharmed_in(self, method, ask, prepare=None):
        """Have a server's host die in a method, before each of its writes in turn.

        :param ask: asks for the operation
        :param prepare: makes the server, and brings it to where it has to be; to run by default
        """
        for number in itertools.count(step=killed.STEP):
            (prepare or self.run_server)()
            with self.killing(number, 'host1', self.manager_of('host1'), method) as died:
                ask()
            if died:
                self.assert_unharmed()
            self.delete()
            if not died:
                break
        self.assertGreater(number, 1)

    def build(self, **kwargs):
        self.server = self.api.post_server({'server': self._build_server(
            flavor_id=self.flavor, networks='none', **kwargs)})

    def run_server(self):
        self.server = self.boot_on('host1', self.flavor)

    def act(self, **action):
        return lambda: self.api.post_server_action(self.server['id'], action)

    def once(self, state, **action):
        """Return what makes a server and brings it to a state."""
        def prepare():
            self.run_server()
            self.act(**action)()
            self._wait_for_state_change(self.server, state)
        return prepare

    def assert_unharmed(self):
        self._run_periodics()
        self.assert_audited()
        if self.is_there():
            self.unlock()
            self._run_periodics()
            self.assert_audited()
            if self.restarted():
                self.assert_settled(self.server)

    def is_there(self):
        # A list has none that is deleted softly.
        try:
            return bool(self.instance_of(self.server))
        except exception.InstanceNotFound:
            return False

    def restarted(self):
        """Start the server anew if it is on a host and not one that was never built."""
        instance = self.instance_of(self.server)
        if instance.host is None or instance.launched_at is None or (
                instance.vm_state not in ('active', 'stopped', 'error')):
            return False
        self._reboot_server(self.server, hard=True)
        return True

    def delete(self):
        self.flags(reclaim_instance_interval=0)
        if self.is_there():
            # Nova may have put it into ERROR.
            self._delete_server(self.api.get_server(self.server['id']))
        self.assert_settled()
        self.assert_audited()


class TestOperations(OperationsTestCase):

    def test_it_is_built_and_deleted(self):
        self.assert_unharmed_in('_do_build_and_run_instance', prepare=lambda: None,
                                ask=lambda: self.build(az='nova:host1'))
        self.assert_unharmed_in('terminate_instance', self.ask_to_delete)

    def ask_to_delete(self):
        self.api.delete_server(self.server['id'])

    def test_it_is_shelved_and_unshelved(self):
        self.assert_unharmed_in('shelve_instance', self.act(shelve=None))
        self.assert_unharmed_in('unshelve_instance', self.act(unshelve=None),
                                self.once('SHELVED_OFFLOADED', shelve=None))

    @full.only
    def test_it_is_offloaded_later(self):
        self.flags(shelved_offload_time=-1)
        shelved = self.once('SHELVED', shelve=None)
        self.assert_unharmed_in('shelve_offload_instance', self.act(shelveOffload=None), shelved)
        self.assert_unharmed_in('start_instance', self.act(unshelve=None), shelved)

    @full.only
    def test_it_is_deleted_softly(self):
        def soft_delete():
            self.flags(reclaim_instance_interval=3600)
            self.ask_to_delete()

        def deleted():
            self.run_server()
            soft_delete()
            self._wait_for_state_change(self.server, 'SOFT_DELETED')
        self.assert_unharmed_in('soft_delete_instance', soft_delete)
        self.assert_unharmed_in('restore_instance', self.act(restore=None), deleted)
        self.assert_unharmed_in('terminate_instance', self.act(forceDelete=None), deleted)

    @full.only
    def test_it_is_rebuilt(self):
        self.assert_unharmed_in('rebuild_instance', lambda: self.act(rebuild={
            'imageRef': self.server['image']['id']})())

    @full.only
    def test_it_is_stopped_and_started(self):
        self.assert_unharmed_in('stop_instance', self.act(**{'os-stop': None}))
        self.assert_unharmed_in('start_instance', self.act(**{'os-start': None}),
                                self.once('SHUTOFF', **{'os-stop': None}))
        for kind in ('SOFT', 'HARD'):
            self.assert_unharmed_in('reboot_instance', self.act(reboot={'type': kind}))

    @full.only
    def test_it_is_suspended_and_resumed(self):
        self.assert_unharmed_in('suspend_instance', self.act(suspend=None))
        self.assert_unharmed_in('resume_instance', self.act(resume=None),
                                self.once('SUSPENDED', suspend=None))
        self.assert_unharmed_in('pause_instance', self.act(pause=None))
        self.assert_unharmed_in('unpause_instance', self.act(unpause=None),
                                self.once('PAUSED', pause=None))

    @full.only
    def test_it_is_rescued(self):
        self.assert_unharmed_in('rescue_instance', self.act(rescue={}))
        self.assert_unharmed_in('unrescue_instance', self.act(unrescue=None),
                                self.once('RESCUE', rescue={}))


class TestRescheduled(OperationsTestCase):
    """Neither host can start the server."""

    HOSTS = 2

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=2, group='scheduler')
        for compute in self.computes.values():
            self.useFixture(fixtures.MockPatchObject(
                compute.manager.driver, 'spawn',
                side_effect=exception.InstanceDeployFailure(reason='no')))

    @full.only
    def test_it_is_rescheduled(self):
        self.assert_unharmed_in(
            '_do_build_and_run_instance', self.build, prepare=lambda: None)
