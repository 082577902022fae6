# SPDX-License-Identifier: Apache-2.0
"""What users see when a server is shrunk for a more critical one. Nova's services are real;
libvirt and the kernel's budgets are stand-ins, and so is what hears of misses.
"""

import time

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt.reaction import threshold
from nova_rt.testing import cloud
from nova_rt.virt import loans
from nova_rt.virt import shrinks

AFTER = threshold.Threshold(2, 60.0)


class ShrinksTestCase(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.flags(hear_misses=True, lend_after_misses=2, miss_window=60.0, lend_for=600.0,
                   group='rt')
        # The processes of the stand-ins for containers are none.
        self.stub_out('nova_rt.virt.containers.first_process', _none)
        self.start('host1')
        self.critical = self.boot(self.make_flavor(40, 1, **{criticality.EXTRA_SPEC: 'C'}))
        # On every pCPU.
        self.elastic = self.boot(self.elastic_flavor(50))

    def elastic_flavor(self, percents, letter='A'):
        return self.make_flavor(percents, cloud.PCPUS, **{
            criticality.EXTRA_SPEC: letter, elastic.EXTRA_SPEC: '10000'})

    def reactor(self):
        return self.computes['host1'].manager._reactions._reactor

    def miss(self, server):
        """Have the reactor help a server as when it has missed too many deadlines."""
        reactor = self.reactor()
        reactor._refresh()
        reactor._known[server['id']] = next(
            number for number, uuid in reactor._names.items() if uuid == server['id'])
        reactor._help(server['id'], AFTER)

    def end(self, server):
        self.computes['host1'].manager.driver.reservations.give_back(
            self.reactor()._known[server['id']])
        self.reactor()._shrunk.look(self.reactor()._names)

    def told(self, server, action='rt_shrink'):
        actions = self.api.api_get(
            f'servers/{server["id"]}/os-instance-actions').body['instanceActions']
        return [each['message'] for each in actions if each['action'] == action]

    def has(self, server):
        kernel = self.kernel_of(self.computes['host1'])
        return [bandwidth.percent(each) for each in kernel.bandwidths(
            f'machine/{server["id"]}')]

    def assert_whole(self):
        self.assertEqual('40%', self.has(self.critical)[0])
        self.assertEqual(['50%'] * cloud.PCPUS, self.has(self.elastic))
        self.assertEqual([], list(shrinks.Shrinks(loans.FOLDER)))
        self.assert_audited()

    def test_a_user_sees_why_it_was_shrunk_and_that_it_is_over(self):
        self.miss(self.critical)
        self.assertEqual('85%', max(self.has(self.critical)))
        self.assertEqual(['10%', '50%', '50%', '50%'], sorted(self.has(self.elastic)))
        self.eventually(lambda: self.assertEqual([
            'A more critical server misses deadlines on its pCPUs: this one has 10% of a CPU '
            'for a vCPU there, instead of 50%, until 600 s have passed without that.'],
            self.told(self.elastic)))
        self.eventually(lambda: self.assertEqual([
            'It missed 2 deadlines or more within 60 s: up to 45% of a CPU is lent to each '
            'vCPU, until 600 s have passed without that.'],
            self.told(self.critical, 'rt_loan')))
        # Ledger and Placement have whole reservations.
        self.assert_ledgers([90, 50, 50, 50])
        self.assertEqual(bandwidth.to_bandwidth(40, 100) + 4 * bandwidth.to_bandwidth(50, 100),
                         self.allocated_on('host1'))
        self.assert_audited()
        self.end(self.critical)
        self.assert_whole()
        self.eventually(lambda: self.assertEqual(
            'It has all of its reservation again.', self.told(self.elastic)[0]))

    def test_nobody_is_shrunk_if_the_operator_does_not_want_it(self):
        self.flags(shrink_elastic=False, group='rt')
        self.start('host1')
        self.miss(self.critical)
        self.assertEqual(['50%'] * cloud.PCPUS, self.has(self.elastic))

    def test_the_periodic_update_and_a_restart_leave_it(self):
        self.miss(self.critical)
        self._run_periodics()
        self.assertEqual('10%', min(self.has(self.elastic)))
        self.computes['host1'].manager._reactions._reactor._helped.clear()
        self.start('host1')
        self.assertEqual('10%', min(self.has(self.elastic)))
        self.assert_audited()

    def test_a_service_that_was_killed_and_a_loan_that_ended_meanwhile(self):
        self.flags(lend_for=0.5, group='rt')
        self.start('host1')
        self.miss(self.critical)
        self.computes['host1'].manager._reactions._reactor._helped.clear()
        time.sleep(1.1)
        self.start('host1')
        self.assert_whole()

    def test_the_next_server_takes_what_is_free_and_all_have_theirs(self):
        self.miss(self.critical)
        self.boot(self.make_flavor(5, cloud.PCPUS))
        self.assert_whole()
        self.assert_ledgers([95, 55, 55, 55])

    def test_a_smaller_reservation_in_place(self):
        self.miss(self.critical)
        self.flags(allow_resize_to_same_host=True)
        self._resize_server(self.elastic, self.elastic_flavor(30))
        self.assertEqual(['30%'] * cloud.PCPUS, self.has(self.elastic))
        self.assert_audited()

    def test_a_stop_and_a_start_of_either(self):
        for server in (self.critical, self.elastic):
            self.miss(self.critical)
            self._stop_server(server)
            self._start_server(server)
            self._run_periodics()
            if server is self.critical:
                self.assert_whole()
            self.assertEqual(['50%'] * cloud.PCPUS, self.has(self.elastic))
            self.end_loans()

    def end_loans(self):
        for server in (self.critical, self.elastic):
            self.computes['host1'].manager.driver.reservations.give_back(
                self.computes['host1'].manager.driver.running()[server['id']].pid)
        self.reactor()._helped.clear()

    def test_one_that_is_deleted_leaves_nothing(self):
        self.miss(self.critical)
        self._delete_server(self.critical)
        self.assertEqual(['50%'] * cloud.PCPUS, self.has(self.elastic))
        self._run_periodics()
        self.assertEqual([], list(shrinks.Shrinks(loans.FOLDER)))
        self.assert_audited()

    def test_a_hint_says_it_too(self):
        flavor = self.make_flavor(20, 1)
        server = self.boot(flavor, hints={elastic.NAME: '5000'})
        self.assertEqual('5000', self.instance_of(server).flavor.extra_specs[elastic.EXTRA_SPEC])


def _none(number):
    raise ProcessLookupError(number)
