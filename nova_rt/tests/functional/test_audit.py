# SPDX-License-Identifier: Apache-2.0
"""The audit on Nova's fixtures: it finds what was broken, and repairs it."""

from nova import objects
from nova.compute import vm_states

from nova_rt import bandwidth
from nova_rt import drifts
from nova_rt import shares
from nova_rt.instance import holdings
from nova_rt.testing import cloud
from nova_rt.virt.cgroup import budget

HALF = bandwidth.BW_UNIT // 2
# A consumer of Placement's that Nova does not know.
STRANGER = 'a' * 8 + '-1111-4111-8111-' + 'b' * 12


class TestAudit(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        for host in ('host1', 'host2'):
            self.start(host)
        self.server = self.boot(self.make_flavor(50, 2), az='nova:host1')
        self.group = f'machine/{self.server["id"]}'
        self.kernel = self.kernel_of(self.computes['host1'])

    def broken(self, kind, host='host1'):
        """Assert that this and nothing else differs."""
        (drift,) = self.auditor_of(host).look()
        self.assertEqual(kind, drift.kind)
        return drift

    def heal(self, kind, host='host1'):
        self.repair(kind, host)
        self.assert_settled(self.server)

    def repair(self, kind, host='host1'):
        auditor = self.auditor_of(host)
        (drift,) = auditor.look()
        self.assertEqual((kind, ''), (drift.kind, auditor.heal(drift)))
        self.assertEqual([], auditor.look())

    def write(self, *percents):
        reservations = self.computes['host1'].manager.driver.reservations
        wanted = budget.Budget(100_000, tuple(
            percent * 1000 for percent in percents))
        reservations._hierarchy.apply(self.group, wanted)

    def allocate(self, share, consumer=None):
        consumer = consumer or self.server['id']
        body = self.placement.get(
            f'/allocations/{self.server["id"]}', version='1.28').body
        for allocation in body['allocations'].values():
            allocation['resources'][shares.RESOURCE_CLASS] = share
        if consumer != self.server['id']:
            body['consumer_generation'] = None
        self.placement.put(f'/allocations/{consumer}', body, version='1.28')

    def test_at_no_stage_of_a_servers_life_does_anything_differ(self):
        steps = (
            lambda: self._stop_server(self.server),
            lambda: self._start_server(self.server),
            lambda: self._resize_server(self.server, self.make_flavor(30, 3)),
            lambda: self._revert_resize(self.server),
            lambda: self._migrate_server(self.server),
            lambda: self._confirm_resize(self.server),
            lambda: self._delete_server(self.server))
        for step in steps:
            step()
            self.assert_audited()

    def test_a_resize_within_the_host_is_no_drift(self):
        self.flags(allow_resize_to_same_host=True)
        self.boot(self.make_flavor(80, 4), az='nova:host2')
        self._resize_server(self.server, self.make_flavor(45, 2))
        self.assert_audited()
        self._confirm_resize(self.server)
        self.assert_audited()

    def test_a_container_that_lost_its_reservation_is_given_it(self):
        self.write(50, 10, 0, 0)
        self.heal(drifts.Kind.KERNEL_LACKS)

    def test_a_container_with_more_is_left_alone(self):
        self.write(50, 70, 0, 0)
        drift = self.broken(drifts.Kind.KERNEL_EXCEEDS)
        self.assertNotEqual('', self.auditor_of('host1').heal(drift))
        self.assertEqual([HALF, 70 * bandwidth.BW_UNIT // 100, 0, 0],
                         self.kernel.bandwidths(self.group))

    def test_a_container_that_has_ended_unseen_is_told(self):
        (pid,) = self.kernel.pids
        self.kernel.stop(pid)
        kinds = [drift.kind for drift in self.auditor_of('host1').look()]
        self.assertEqual([drifts.Kind.KERNEL_LACKS, drifts.Kind.KERNEL_KEEPS],
                         kinds)

    def test_a_group_of_somebody_else_is_told(self):
        self.kernel.start(1, 'machine/other')
        self.kernel._groups['machine'].runtimes_us = [600_000] * 4
        self.kernel._groups['machine/other'].runtimes_us = [0, 0, 0, 100_000]
        kinds = [drift.kind for drift in self.auditor_of('host1').look()]
        self.assertIn(drifts.Kind.KERNEL_STRANGER, kinds)

    def test_a_lost_allocation_is_made_again(self):
        self.allocate(1)
        self.heal(drifts.Kind.PLACEMENT_LACKS)

    def test_a_server_that_lost_its_whole_allocation_is_given_one(self):
        """Nova takes it away where an evacuation from here was cut off."""
        self.lose_allocation_of(self.server['id'])
        self.assert_settled(self.server)

    def test_a_move_that_lost_its_whole_allocation_is_given_one(self):
        """A server that has none leaves none to the move when it is moved."""
        self._resize_server(self.server, self.make_flavor(30, 2))
        (migration,) = self.api.get_migrations()
        self.lose_allocation_of(migration['uuid'])
        self._confirm_resize(self.server)
        self.assert_settled(self.server)

    def lose_allocation_of(self, consumer):
        before = self.allocations_of(consumer)
        self.assertTrue(before)
        self.placement.delete(f'/allocations/{consumer}')
        self.repair(drifts.Kind.PLACEMENT_LACKS)
        self.assertEqual(before, self.allocations_of(consumer))

    def allocations_of(self, consumer):
        answer = self.placement.get(f'/allocations/{consumer}').body
        return {provider: allocation['resources']
                for provider, allocation in answer['allocations'].items()}

    def test_an_allocation_too_large_is_corrected(self):
        self.allocate(3 * HALF)
        self.heal(drifts.Kind.PLACEMENT_EXCEEDS)

    def test_the_allocation_of_a_server_that_has_left_is_taken_back(self):
        other = self.boot(self.make_flavor(50, 1), az='nova:host2')
        body = self.placement.get(
            f'/allocations/{other["id"]}', version='1.28').body
        body['allocations'][self._get_provider_uuid_by_host('host1')] = {
            'resources': {shares.RESOURCE_CLASS: 5}}
        self.placement.put(f'/allocations/{other["id"]}', body, version='1.28')
        auditor = self.auditor_of('host1')
        (drift,) = auditor.look()
        self.assertEqual(drifts.Kind.PLACEMENT_ORPHAN, drift.kind)
        self.assertEqual('', auditor.heal(drift))
        self.assert_settled(self.server, other)
        self.assert_audited()

    def test_the_allocation_of_a_move_that_was_cut_off_is_taken_back(self):
        """A migration stays in progress if its nova-compute dies."""
        migration = objects.Migration(
            self.cell_context(), instance_uuid=self.server['id'],
            source_compute='host1', source_node='host1', status='migrating',
            migration_type='migration')
        migration.create()
        self.allocate(5, consumer=migration.uuid)
        self.heal(drifts.Kind.PLACEMENT_ORPHAN)

    def test_what_is_taken_back_makes_room_for_what_is_missing(self):
        """A server that was evacuated may have lost it to a move that was cut off."""
        migration = objects.Migration(
            self.cell_context(), instance_uuid=self.server['id'],
            source_compute='host1', source_node='host1', status='migrating',
            migration_type='migration')
        migration.create()
        self.allocate(1)
        auditor = self.auditor_of('host1')
        self.allocate(auditor._reservations.empty.rt_share - 1,
                      consumer=migration.uuid)
        found = auditor.look()
        self.assertEqual(
            [drifts.Kind.PLACEMENT_ORPHAN, drifts.Kind.PLACEMENT_LACKS],
            [drift.kind for drift in found])
        self.assertEqual(['', ''], [auditor.heal(drift) for drift in found])
        self.assert_settled(self.server)
        self.assert_audited()

    def test_a_server_whose_offloading_was_cut_off_has_gone(self):
        """Nova notes that first, and on which host it is none later."""
        self._stop_server(self.server)
        instance = self.instance_of(self.server)
        instance.vm_state = vm_states.SHELVED_OFFLOADED
        instance.save()
        self._run_periodics()
        auditor = self.auditor_of('host1')
        (drift,) = auditor.look()
        self.assertEqual((drifts.Kind.PLACEMENT_EXCEEDS, ''),
                         (drift.kind, auditor.heal(drift)))
        self.assert_settled()
        self.assert_audited()

    def test_an_allocation_of_a_consumer_that_nova_does_not_know_is_only_reported(self):
        self.allocate(5, consumer=STRANGER)
        self.broken(drifts.Kind.PLACEMENT_UNKNOWN)

    def test_what_such_a_consumer_leaves_no_room_for_is_told(self):
        self.allocate(1)
        auditor = self.auditor_of('host1')
        self.allocate(auditor._reservations.empty.rt_share - 1, consumer=STRANGER)
        (lacks,) = [drift for drift in auditor.look()
                    if drift.kind is drifts.Kind.PLACEMENT_LACKS]
        self.assertIn('has no room for it here', auditor.heal(lacks))
        self.placement.delete(f'/allocations/{STRANGER}')
        self.heal(drifts.Kind.PLACEMENT_LACKS)

    def test_a_server_older_than_the_share_in_its_flavor_gets_it(self):
        instance = self.instance_of(self.server)
        flavor = instance.flavor.obj_clone()
        flavor.extra_specs = {
            name: value for name, value in flavor.extra_specs.items()
            if name != shares.EXTRA_SPEC}
        instance.flavor = flavor
        instance.save()
        self.heal(drifts.Kind.FLAVOR_SILENT)

    def test_a_lost_claim_is_noted_again_from_what_runs(self):
        instance = self.instance_of(self.server)
        holdings.set_pcpus(instance, None)
        instance.save()
        auditor = self.auditor_of('host1')
        lost = [drift for drift in auditor.look()
                if drift.kind is drifts.Kind.CLAIM_MISSING]
        self.assertEqual(['']*len(lost), [auditor.heal(drift) for drift in lost])
        self.assertEqual(1, len(lost))
        self._run_periodics()
        self.assert_settled(self.server)
        self.assert_audited()

    def test_a_ledger_that_nova_rt_compute_has_not_derived_is_told(self):
        instance = self.instance_of(self.server)
        holdings.set_pcpus(instance, (2, 3))
        instance.save()
        kinds = {drift.kind for drift in self.auditor_of('host1').look()}
        self.assertIn(drifts.Kind.LEDGER_DIFFERS, kinds)
        self._run_periodics()
        self.broken(drifts.Kind.KERNEL_LACKS)

    def test_an_inventory_that_is_not_the_hosts_is_told(self):
        compute = self.computes['host1']
        compute.manager.driver.reservations.empty = shares.HostShares.empty(
            (cloud.CAP, cloud.CAP, cloud.CAP, 0))
        kinds = {drift.kind for drift in self.auditor_of('host1').look()}
        self.assertEqual({drifts.Kind.INVENTORY_DIFFERS,
                          drifts.Kind.LEDGER_DIFFERS}, kinds)
        self._run_periodics()
        self.assert_audited()
