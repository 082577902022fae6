# SPDX-License-Identifier: Apache-2.0
"""Keystone's limit of a project's share holds, whatever asks for more and however at once.

Keystone is oslo.limit's own fake; all else of Nova and Placement is real.
"""

import concurrent.futures
import contextlib
from unittest import mock

from keystoneauth1 import exceptions as ks_exc
from nova import context
from nova import objects
from nova.scheduler.client import report
from nova.tests.functional.api import client
from oslo_limit import exception as limit_exceptions
import pytest

from nova_rt import allocations
from nova_rt import bandwidth
from nova_rt import reservation
from nova_rt.explain import quotas
from nova_rt.instance import flavors
from nova_rt.instance import hint_update
from nova_rt.instance import holdings
from nova_rt.limits import keystone
from nova_rt.limits import turns
from nova_rt.limits import usage
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.testing import keystone_limits
from nova_rt.tests.functional import preemption_case

CLIENTS = 16


class LimitTestCase(cloud.CloudTestCase):
    """A project that may have a share of one CPU reserved."""

    HOSTS = 1
    LIMIT = bandwidth.BW_UNIT

    def setUp(self):
        super().setUp()
        for number in range(self.HOSTS):
            self.start(f'host{number}')
        self.keystone = self.useFixture(keystone_limits.KeystoneLimits(
            self.api.project_id, self.LIMIT))

    def refused(self, ask, *args, status=403, **kwargs):
        """Return the sentence with which a request is refused."""
        with pytest.raises(client.OpenStackApiException) as refused:
            ask(*args, **kwargs)
        assert refused.value.response.status_code == status, refused.value
        (fault,) = refused.value.response.json().values()
        return fault['message']

    def used(self):
        """Return what counts for the project, in percent of a CPU."""
        return bandwidth.percent(usage.of_project(
            context.get_admin_context(), self.api.project_id))

    def act(self, server, **action):
        return self.api.post_server_action(server['id'], action)


class TestLimits(LimitTestCase):

    def test_a_server_over_the_limit_is_refused_with_the_numbers(self):
        flavor = self.make_flavor(30, 2)
        server = self.boot(flavor)
        assert self.refused(self.boot, flavor) == (
            'The project may have 100% of a CPU reserved, and has 60%: 60% more is over its '
            'limit of class:CUSTOM_RT_SHARE.')
        self._delete_server(server)
        self.boot(flavor)
        assert self.used() == '60%'

    def test_a_hint_counts_for_what_it_asks(self):
        flavor = self.make_flavor(60, 2)
        self.refused(self.boot, flavor)
        self.boot(flavor, hints={'cpu.rt_runtime_us': '20000'})
        assert '80% more' in self.refused(
            self.boot, self.make_flavor(10, 2), hints={'cpu.rt_runtime_us': '40000'})

    def test_all_servers_of_a_request_count(self):
        flavor = self.make_flavor(30, 1)
        for more in ({'min_count': 4}, {'max_count': 4}, {'min_count': 1, 'max_count': '4'},
                     # Nova's schema and int() take these, too.
                     {'max_count': 4.0}, {'min_count': '0000000004'}, {'max_count': '4\n'}):
            body = self._build_server(flavor_id=flavor, networks='none')
            assert '120% more' in self.refused(
                self.api.post_server, {'server': body | more})
        self._build_and_run(flavor, 3)
        assert self.used() == '90%'

    def _build_and_run(self, flavor, count):
        body = self._build_server(flavor_id=flavor, networks='none')
        self.api.post_server({'server': body | {'min_count': count}})
        self.eventually(lambda: self.assertEqual(
            ['ACTIVE'] * count, [server['status'] for server in self.api.get_servers()]))

    def test_a_server_that_finds_no_host_gives_its_share_back(self):
        self.keystone.of_project[keystone.RESOURCE] = 10 * self.LIMIT
        flavor = self.make_flavor(90, cloud.PCPUS)
        self.boot(flavor)
        self.boot(flavor, 'ERROR')
        # Nova forgets the request to build it after it has set the state.
        self.eventually(lambda: self.assertEqual(f'{90 * cloud.PCPUS}%', self.used()))

    def test_the_limit_of_a_project_goes_before_the_registered_one(self):
        flavor = self.make_flavor(60, 2)
        self.keystone.of_project[keystone.RESOURCE] = 2 * self.LIMIT
        self.boot(flavor)
        self.keystone.of_project[keystone.RESOURCE] = 0
        assert 'may have 0% of a CPU reserved, and has 120%' in self.refused(
            self.boot, self.make_flavor(1, 1))

    def test_without_a_limit_nothing_is_refused(self):
        flavor = self.make_flavor(60, 2)
        del self.keystone.registered[keystone.RESOURCE]
        self.boot(flavor)
        self.keystone.registered[keystone.RESOURCE] = -1
        self.boot(self.make_flavor(30, 2))
        self.flags(driver='nova.quota.DbQuotaDriver', group='quota')
        self.boot(self.make_flavor(1, 1))

    def test_servers_without_a_reservation_do_not_ask_keystone(self):
        with mock.patch.object(keystone, '_enforcer', side_effect=AssertionError):
            self._create_server(flavor_id=self._create_flavor(memory_mb=64, disk=1),
                                networks='none')

    def test_a_keystone_or_placement_that_does_not_answer_is_said(self):
        flavor = self.make_flavor(10, 1)
        with mock.patch.object(keystone, '_enforcer',
                               side_effect=limit_exceptions.SessionInitError('down')):
            assert 'look at [oslo_limit]' in self.refused(self.boot, flavor, status=503)
        for trouble in (ks_exc.EndpointNotFound('none'), ks_exc.ConnectFailure('gone')):
            with mock.patch.object(report.SchedulerReportClient,
                                   'get_usages_counts_for_limits', side_effect=trouble):
                assert 'cannot be counted' in self.refused(self.boot, flavor, status=503)
        assert self.api.get_servers() == []


    def test_a_cell_that_does_not_answer_is_said_if_it_has_servers_of_the_project(self):
        flavor = self.make_flavor(10, 1)
        with self.silent_cells():
            server = self.api.post_server({
                'server': self._build_server(flavor_id=flavor, networks='none')})
        self._wait_for_state_change(server, 'ACTIVE')
        with self.silent_cells():
            assert 'a cell with servers of its own' in self.refused(
                self.boot, flavor, status=503)

    def silent_cells(self):
        """Have no cell answer how many of its servers are under way."""
        cells = objects.CellMappingList.get_all(context.get_admin_context())
        return mock.patch.object(context, 'scatter_gather_skip_cell0', return_value={
            cell.uuid: context.did_not_respond_sentinel for cell in cells if not cell.is_cell0()})


class TestOperations(LimitTestCase):

    def setUp(self):
        super().setUp()
        self.flags(allow_resize_to_same_host=True)

    def test_a_resize_counts_for_what_it_adds(self):
        server = self.boot(self.make_flavor(30, 2))
        assert '60% more' in self.refused(
            self.act, server, resize={'flavorRef': self.make_flavor(60, 2)})
        self._resize_server(server, self.make_flavor(50, 2))
        self._confirm_resize(server)
        assert self.used() == '100%'

    def test_a_resize_to_less_is_not_refused_over_the_limit(self):
        server = self.boot(self.make_flavor(40, 2))
        self.keystone.of_project[keystone.RESOURCE] = 0
        self._resize_server(server, self.make_flavor(30, 2))
        self._confirm_resize(server)
        assert self.used() == '60%'

    def test_resizes_that_come_together_do_not_pass_together(self):
        servers = [self.boot(self.make_flavor(10, 2)) for _ in range(3)]
        flavor = self.make_flavor(20, 2)
        with mock.patch('nova.compute.rpcapi.ComputeAPI.prep_resize') as begun:
            for server in servers[:2]:
                self.act(server, resize={'flavorRef': flavor})
            assert '20% more' in self.refused(
                self.act, servers[2], resize={'flavorRef': flavor})
            self.eventually(lambda: self.assertEqual(2, begun.call_count))
            # Refused as one is under way, and no way to make that one look small.
            self.keystone.of_project[keystone.RESOURCE] = 2 * self.LIMIT
            self.refused(self.act, servers[0], status=409,
                         resize={'flavorRef': self.make_flavor(11, 2)})
        assert self.instance_of(servers[0]).system_metadata[holdings.GROWTH] == str(
            2 * (bandwidth.to_bandwidth(20, 100) - bandwidth.to_bandwidth(10, 100)))

    def test_what_a_resize_adds_is_counted_when_its_turn_comes(self):
        server = self.boot(self.make_flavor(50, 1))

        def before():
            self.change(server, 10_000)
            self.boot(self.make_flavor(90, 1))
        self.before_its_turn(before)
        # Its hint stays.
        assert 'has 100%: 10% more' in self.refused(
            self.act, server, resize={'flavorRef': self.make_flavor(50, 2)})

    def test_a_hint_that_changes_before_its_turn_counts_for_a_resize(self):
        server = self.boot(self.make_flavor(10, 1))
        self.before_its_turn(lambda: self.change(server, 90_000))
        assert 'has 90%: 90% more' in self.refused(
            self.act, server, resize={'flavorRef': self.make_flavor(10, 2)})

    def change(self, server, runtime_us):
        hint_update.change(context.get_admin_context(), server['id'],
                           reservation.Times(runtime_us), cloud.CAP)

    def before_its_turn(self, happens):
        """Have something happen after the next request was checked, before its turn comes."""
        @contextlib.contextmanager
        def late(project):
            patched.stop()
            happens()
            with turns.of(project):
                yield
        patched = mock.patch.object(turns, 'of', late)
        patched.start()

    def test_unshelving_takes_the_share_up_again(self):
        self.flags(shelved_offload_time=0)
        server = self.boot(self.make_flavor(30, 2))
        self.act(server, shelve={})
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        assert self.used() == '0%'
        other = self.boot(self.make_flavor(30, 2))
        assert '60% more' in self.refused(self.act, server, unshelve=None)
        self._delete_server(other)
        self.act(server, unshelve=None)
        self._wait_for_state_change(server, 'ACTIVE')
        assert self.used() == '60%'

    def test_a_shelved_server_that_kept_its_host_counts_once(self):
        self.flags(shelved_offload_time=-1)
        server = self.boot(self.make_flavor(40, 2))
        self.act(server, shelve={})
        self._wait_for_state_change(server, 'SHELVED')
        self.act(server, unshelve=None)
        self._wait_for_state_change(server, 'ACTIVE')
        assert self.used() == '80%'

    def test_why_tells_the_limit_beside_novas_quotas(self):
        flavor = self.make_flavor(30, 2)
        self.boot(flavor)
        asker = context.RequestContext('fake', self.api.project_id, is_admin=True)
        asked = objects.Flavor.get_by_flavor_id(asker, flavor)
        told = quotas.of(asker, asked, flavors.reservation_of(asked))
        share, = (each for each in told if each.resource == 'share')
        assert share.servers == 0
        assert str(share) == 'The project may have 100% of a CPU reserved, and has 60%.'


class TestShrunkServers(preemption_case.PreemptionCase):
    """A project cannot have more by having its own servers shrunk."""

    def setUp(self):
        super().setUp()
        self.start('one', (cloud.CAP,))
        self.soft = self.boot(self.elastic_of(60, 20))
        self.hard = self.ask(self.flavor_of(50, 'B'))

    def used(self):
        return bandwidth.percent(usage.of_project(self.admin, self.api.project_id))

    def test_what_they_get_back_counts(self):
        self.placed(self.hard)
        assert self.percent_of(self.soft) == 45
        assert self.used() == '110%'
        self.deleted(self.hard)
        assert self.used() == '60%'
        self.given_back(self.soft)
        assert self.used() == '60%'

    def used_meanwhile(self, before=lambda: None, after=lambda: None):
        """Return what counts if something happens before or after Placement is asked."""
        placement = allocations.PlacementClient
        share_of_project, happens = placement.share_of_project, [(before, after)]

        def share(*args):
            first, then = happens.pop() if happens else (lambda: None, lambda: None)
            first()
            told = share_of_project(*args)
            then()
            return told
        with mock.patch.object(placement, 'share_of_project', share):
            return self.used()

    def test_what_is_taken_or_given_back_meanwhile_counts(self):
        assert self.used_meanwhile(before=lambda: self.placed(self.hard)) == '110%'
        self.deleted(self.hard)
        assert self.used_meanwhile(after=lambda: self.given_back(self.soft)) == '60%'


class TestAtOnce(LimitTestCase):
    """Four times as many requests as a limit takes."""

    HOSTS = 4
    FIT = 50 if full.WANTED else 20
    REQUESTS = 4 * FIT
    PERCENT = 5
    LIMIT = FIT * bandwidth.to_bandwidth(PERCENT, 100)

    def ask(self, body):
        try:
            return self.api.post_server({'server': body})
        except client.OpenStackApiException as refused:
            if refused.response.status_code != 403 or 'over its limit' not in str(refused):
                raise
            return None

    def test_exactly_as_many_pass_as_the_limit_takes(self):
        flavor = self.make_flavor(self.PERCENT, 1)
        bodies = [self._build_server(flavor_id=flavor, networks='none')
                  for _ in range(self.REQUESTS)]
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            passed = [server for server in clients.map(self.ask, bodies) if server]
        assert len(passed) == self.FIT
        for server in passed:
            self._wait_for_state_change(server, 'ACTIVE')
        self._delete_server(passed[0])
        assert self.ask(bodies[0])
        assert self.ask(bodies[0]) is None
