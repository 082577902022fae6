# SPDX-License-Identifier: Apache-2.0
"""Random operations with faults, after which all must say the same.

NOVA_RT_CHAOS_SEEDS names the seeds (``1``; with FULL=1, ``1-10``),
NOVA_RT_CHAOS_OPERATIONS is how many operations each has (30; with FULL=1, 100). A seed
gives the same operations each time, though not the same order of events: Nova's services
are threads.
NOVA_RT_CHAOS_PATIENCE_S is how long a service waits for another's answer. It is long, as
only a dead one fails to answer; with 1, one that is slow is taken for dead, too.
"""

import collections
import contextlib
import errno
import os
import random
from unittest import mock

import fixtures
from nova import exception
from nova.tests.functional.api import client

from nova_rt import drifts
from nova_rt import reservation
from nova_rt.instance import compute_call
from nova_rt.instance import flavors
from nova_rt.instance import hint_update
from nova_rt.instance import holdings
from nova_rt.instance import vcpu_move_request
from nova_rt.testing import cloud
from nova_rt.testing import fake_driver
from nova_rt.testing import fake_machine_driver
from nova_rt.testing import full
from nova_rt.tests.functional import messages

OPERATIONS = int(os.environ.get(
    'NOVA_RT_CHAOS_OPERATIONS', '100' if full.WANTED else '30'))
_first, _, _last = os.environ.get(
    'NOVA_RT_CHAOS_SEEDS', '1-10' if full.WANTED else '1').partition('-')
SEEDS = range(int(_first), int(_last or _first) + 1)
# By default, fewer for virtual machines: most of what can happen is the same.
SEEDS_OF_MACHINES = SEEDS if 'NOVA_RT_CHAOS_SEEDS' in os.environ else SEEDS[:1]

HOSTS = ('host1', 'host2', 'host3', 'host4')
MOST_SERVERS = 10
FAULTS = 0.25
SHAPES = ((50, 2), (30, 1), (40, 3), (75, 1), (10, 4), (20, 2))
IMAGES = ('155d900f-4e14-4e4c-a73d-069cbf4541e6',
          'a2459075-d96c-40d5-893e-577ff92e721c')
# What can be done to a server, by its state.
POSSIBLE = {
    'active': ('os-stop', 'soft', 'hard', 'resize', 'migrate', 'shelve',
               'rebuild', 'pause', 'suspend', 'change', 'change', 'move vCPU', 'move vCPU',
               'delete'),
    'stopped': ('os-start', 'resize', 'migrate', 'shelve', 'rebuild', 'change', 'move vCPU',
                'delete'),
    'resized': ('confirmResize', 'revertResize', 'revertResize', 'delete'),
    'shelved_offloaded': ('unshelve', 'unshelve', 'delete'),
    'paused': ('unpause', 'delete'),
    'suspended': ('resume', 'delete'),
    'error': ('hard', 'delete'),
}
# A virtual machine is migrated live, too.
POSSIBLE_FOR_MACHINES = {**POSSIBLE, 'active': POSSIBLE['active'] + ('live',) * 4}
LOSABLE = {
    'build_and_run_instance', 'prep_resize', 'resize_instance',
    'finish_resize', 'confirm_resize', 'revert_resize',
    'finish_revert_resize', 'stop_instance', 'start_instance',
    'reboot_instance', 'rebuild_instance', 'unshelve_instance'}
LEFT_TO_AN_AUDIT = {
    drifts.Kind.PLACEMENT_ORPHAN, drifts.Kind.PLACEMENT_LACKS,
    drifts.Kind.PLACEMENT_EXCEEDS, drifts.Kind.PLACEMENT_UNKNOWN}
# A server may be changing while it is asked to: a 409 is an answer.
ANSWERS = [200, 202, 204, 400, 404, 409]
# Long, for a machine that does much else.
PATIENCE_S = int(os.environ.get('NOVA_RT_CHAOS_PATIENCE_S', '200'))
AT_REST_S = 300
# A service that is killed takes up to so many steps more.
STEPS = 60


class Chaos(cloud.CloudTestCase):
    """Four hosts.

    :cvar possible: what can be done to a server, by its state
    """

    possible = POSSIBLE

    def setUp(self):
        self.messages = self.useFixture(messages.Messages())
        super().setUp()
        self.flags(max_attempts=3, group='scheduler')
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.flags(allow_resize_to_same_host=True, shelved_offload_time=0,
                   manager_shutdown_timeout=0, rpc_response_timeout=PATIENCE_S,
                   long_rpc_timeout=PATIENCE_S, executor_thread_pool_size=8)
        self.done = collections.Counter()
        for host in HOSTS:
            self.make_kernel(host)
            self.start(host)
        driver = type(self.computes[HOSTS[0]].manager.driver)
        leave = driver.migrate_disk_and_power_off
        self.useFixture(fixtures.MockPatchObject(
            driver, 'migrate_disk_and_power_off',
            lambda *args, **kwargs: self.let_go(leave, *args, **kwargs)))
        self.flavors = [self.make_flavor(percent, vcpus)
                        for percent, vcpus in SHAPES]
        self.flavors.append(self._create_flavor(vcpu=1, memory_mb=64, disk=1))
        self.addCleanup(self.kill_all)
        self.messages.loses = self.loses
        self.lose_next = self.keep_next = False

    def make_kernel(self, host):
        """Make the kernel of a host, which outlives its service."""

    def kill_all(self):
        # To stop them takes seconds each.
        for compute in self.computes.values():
            self.messages.kill(compute.manager)

    def loses(self, method):
        lost = self.lose_next and method in LOSABLE
        if lost:
            self.lose_next = False
            self.done[f'lost {method}'] += 1
        return lost

    def let_go(self, leave, driver, *args, **kwargs):
        """Have a server leave its host, unless its disk would not."""
        if self.keep_next:
            self.keep_next = False
            self.done['kept'] += 1
            raise exception.InstanceFaultRollback(
                exception.ResizeError(reason='The disk is in use.'))
        return leave(driver, *args, **kwargs)

    # One operation

    def servers(self):
        """Return all servers as the database has them, the oldest first."""
        return self.ask_database(
            'SELECT uuid, vm_state, task_state, host FROM instances '
            'WHERE deleted = 0 ORDER BY id')

    def operate(self):
        servers = self.servers()
        if len(servers) < 2 or (len(servers) < MOST_SERVERS
                                and self.random.random() < 0.3):
            return self.create()
        if self.random.random() < 0.06:
            return self.restart(self.random.choice(HOSTS))
        if self.random.random() < 0.04:
            return self.evacuate(self.random.choice(HOSTS))
        server = self.random.choice(servers)
        possible = self.possible.get(server.vm_state, ('delete',))
        return self.act(server.uuid, self.random.choice(possible))

    def create(self):
        request = {'server': self._build_server(
            flavor_id=self.random.choice(self.flavors), networks='none')}
        if self.random.random() < 0.3:
            request['os:scheduler_hints'] = {
                'cpu.rt_runtime_us': self.random.choice((15_000, 45_000)),
                'cpu.rt_period_us': 100_000}
        self.api.post_server(request)
        self.done['create'] += 1

    def act(self, server, name):
        self.done[name] += 1
        # Nova's API answers 500 when a compute service dies that it waits for,
        # when a server changes that it has just looked at or is about to delete,
        # and when it is to reboot one without a host.
        try:
            if name == 'delete':
                self.delete(server)
            elif name == 'change':
                self.change(server)
            elif name == 'move vCPU':
                self.move_vcpu(server)
            else:
                self.order(server, name)
        except client.OpenStackApiException as answer:
            self.assertRegex(
                str(answer), r'MessagingTimeout|UnexpectedTaskStateError|'
                r"ObjectActionError|nova\.exception\.NovaException'")
            self.done['answer: 500'] += 1

    def delete(self, server):
        # It may be gone since it was listed.
        with contextlib.suppress(client.OpenStackApiNotFoundException):
            self.api.delete_server(server)

    def change(self, server):
        with self.refusals_counted():
            hint_update.change(
                self.cell_context(), server, reservation.Times(self.random.choice(
                    (10_000, 25_000, 60_000, 90_000))), cloud.CAP)

    def move_vcpu(self, server):
        there = self.instance_of({'id': server})
        holding = holdings.holding_of(there)
        if holding is not None:
            with self.refusals_counted():
                vcpu_move_request.move(
                    self.cell_context(), server, there.host or HOSTS[0],
                    self.random.choice(holding.pcpus), self.random.randrange(cloud.PCPUS))

    @contextlib.contextmanager
    def refusals_counted(self):
        try:
            yield
        except (compute_call.RefusedError, reservation.InvalidReservationError,
                exception.NotFound) as refused:
            self.done[f'refused: {type(refused).__name__}'] += 1

    def order(self, server, name):
        body = {
            'soft': {'reboot': {'type': 'SOFT'}},
            'hard': {'reboot': {'type': 'HARD'}},
            'resize': {'resize': {
                'flavorRef': self.random.choice(self.flavors)}},
            'rebuild': {'rebuild': {
                'imageRef': self.random.choice(IMAGES)}},
            'live': {'os-migrateLive': {'host': None, 'block_migration': 'auto'}},
        }.get(name, {name: None})
        self.admin_api.post_server_action(
            server, body, check_response_status=ANSWERS)

    def restart(self, host):
        """Kill a service, if nobody has, and start it again."""
        self.done['restart'] += 1
        compute = self.computes[host]
        self.messages.kill(compute.manager)
        # A service that cannot even try the kernel out does not start.
        self.kernel_of(compute).refuse_next = None
        self.start(host)

    def evacuate(self, host):
        self.done['evacuate'] += 1
        compute = self.computes[host]
        self.messages.kill(compute.manager)
        compute.stop()
        self.force_down(host, True)
        with mock.patch.object(self.admin_api, 'microversion', '2.94'):
            for server in self.servers():
                if server.host == host:
                    self.admin_api.post_server_action(
                        server.uuid, {'evacuate': {}},
                        check_response_status=ANSWERS)
            self.rest()
        self.restart(host)
        self.force_down(host, False)

    # Faults, and the end of each operation

    def break_something(self):
        fault = self.random.choice(
            ('refuse', 'refuse all', 'lose', 'kill', 'keep', *messages.Away))
        self.done[f'fault: {fault}'] += 1
        host = self.random.choice(HOSTS)
        kernel = self.kernel_of(self.computes[host])
        number = self.random.choice((errno.EBUSY, errno.EINVAL))
        if fault == 'refuse':
            kernel.refuse_next = number
        elif fault == 'refuse all':
            kernel.refuse_containers = number
        elif fault == 'lose':
            self.lose_next = True
        elif fault == 'keep':
            self.keep_next = True
        else:
            # Of whichever is told to do something.
            steps = int(STEPS ** self.random.random())
            for compute in self.computes.values():
                if fault == 'kill':
                    self.messages.kill(compute.manager, steps)
                else:
                    self.messages.fail(compute.manager, fault, steps)

    def mend(self):
        self.lose_next = self.keep_next = False
        for host, compute in self.computes.items():
            self.messages.mend(compute.manager)
            self.kernel_of(compute).refuse_next = None
            self.kernel_of(compute).refuse_containers = None
            if not self.messages.spare(compute.manager):
                self.done['died'] += 1
                self.restart(host)

    def rest(self):
        self.assertTrue(self.messages.rest(AT_REST_S))

    def step(self):
        broken = self.random.random() < FAULTS
        if broken:
            self.break_something()
        self.operate()
        if broken or self.random.random() < 0.7:
            self.rest()
        self.mend()
        self.assert_never_over_the_cap()

    def assert_never_over_the_cap(self):
        for host, compute in self.computes.items():
            self.assertLessEqual(self.kernel_of(compute).most, cloud.CAP, host)
            tracker = compute.manager.rt
            self.assertLessEqual(max(tracker.shares.used), cloud.CAP,
                                 f'{host}: {tracker.ledger}')

    def clear_up(self):
        """Do what an operator does after faults.

        Services are killed, so they are started again. The task of a server
        whose message was lost, or whose service died, never ends: its state is
        reset, as only the operator knows that nothing works on it any more. A
        server in ERROR is rebooted, which is how Nova has it repaired. One
        that a move has left on a host without room has no claim there: it is
        deleted, in place of being migrated once more. And a container that an
        evacuation had begun where its service died, while the server is where
        it was, is ended, as Nova never looks for it. A server whose service died
        in the middle of a reboot is rebooted: libvirt would tell Nova that it does
        not run, but the fake driver notes that by itself. The hint of one whose reservation was
        changed is stored.
        """
        self.rest()
        for host in HOSTS:
            self.restart(host)
        self.rest()
        for server in self.servers():
            if holdings.HINT_DUE in self.instance_of({'id': server.uuid}).system_metadata:
                hint_update.change(
                    self.cell_context(), server.uuid, reservation.Times(), cloud.CAP)
        for server in self.servers():
            if server.task_state or server.vm_state == 'building':
                self.done['reset'] += 1
                self.admin_api.post_server_action(
                    server.uuid, {'os-resetState': {'state': 'error'}})
        for server in self.servers():
            if server.vm_state == 'error':
                self.act(server.uuid, 'hard')
        self.rest()
        self.run_periodic_tasks()
        for host in HOSTS:
            for drift in self.auditor_of(host).look():
                if drift.kind is drifts.Kind.CLAIM_MISSING:
                    self.done['without a claim'] += 1
                    self.act(drift.subject, 'delete')
                elif drift.kind is drifts.Kind.KERNEL_STRANGER:
                    self.done['left behind'] += 1
                    self.end_container(host, drift.subject)
                elif drift.kind is drifts.Kind.KERNEL_LACKS and not drift.remedy:
                    self.done['not running'] += 1
                    self.act(drift.subject, 'hard')
        self.rest()
        self._run_periodics()

    def end_container(self, host, server):
        """Do what virsh does."""
        self.computes[host].manager.driver.instances.pop(server, None)
        self.end_running(self.kernel_of(self.computes[host]), server)

    def end_running(self, kernel, server):
        """End what runs of a server on a host."""

    def run_periodic_tasks(self):
        """Run what each host does every few minutes.

        So Nova ends the container of a server that was deleted while it was
        started, and notes that a container has ended.
        """
        for compute in self.computes.values():
            there = self.cell_context()
            compute.manager._cleanup_running_deleted_instances(there)
            compute.manager._sync_power_states(there)
        self.rest()
        self._run_periodics()

    def assert_right_without_repair(self):
        """Assert what no fault may break for long: all but some allocations.

        Kernel, ledger and Nova agree. Placement may not, about servers whose
        move was cut off: nothing of Nova's ever ends it, so both hosts' shares
        stay allocated, one of them to the move; and a host that was evacuated
        gives up its allocations when it comes back, also to a server that never
        arrived elsewhere. These are what ``audit --heal`` is for. A scheduler that
        answers later than the conductor waits has allocated to a server that is
        never built: that is for Nova's own audit.
        """
        for host in HOSTS:
            drifts = self.auditor_of(host).look()
            for drift in drifts:
                self.tell(host, drift)
            self.done.update(f'drift: {drift.kind}' for drift in drifts)
            self.assertEqual([], [drift for drift in drifts
                                  if drift.kind not in LEFT_TO_AN_AUDIT], host)

    def tell(self, host, drift):
        """Print what has differed, and what had been done to the server."""
        print(f'{host}: {drift.kind} of {drift.subject}: {drift.sentence}')
        for row in self.ask_database(
                'SELECT i.vm_state, i.task_state, i.host, a.action, e.event, '
                'e.host, e.result FROM instances AS i '
                'JOIN instance_actions AS a ON a.instance_uuid = i.uuid '
                'JOIN instance_actions_events AS e ON e.action_id = a.id '
                'WHERE :subject IN (i.uuid, (SELECT uuid FROM migrations AS m '
                'WHERE m.instance_uuid = i.uuid AND m.uuid = :subject)) '
                'ORDER BY e.id', subject=drift.subject):
            print('   ', *row)

    def heal(self):
        for host in HOSTS:
            self.forget_unknown(host)
        for host in HOSTS:
            auditor = self.auditor_of(host)
            for drift in auditor.look():
                self.assertEqual('', auditor.heal(drift), f'{host}: {drift}')
        self._run_periodics()

    def forget_unknown(self, host):
        """Do what ``nova-manage placement audit --delete`` does; it makes room."""
        for drift in self.auditor_of(host).look():
            if drift.kind is drifts.Kind.PLACEMENT_UNKNOWN:
                self.placement.delete(f'/allocations/{drift.subject}')

    def count_moves(self):
        """Count how moves have ended, to see that not all have failed."""
        return {f'{kind} {status}': count for kind, status, count in self.ask_database(
            'SELECT migration_type, status, COUNT(*) FROM migrations '
            'GROUP BY migration_type, status')}

    def assert_each_has_its_reservation(self):
        for server in self.servers():
            instance = self.instance_of({'id': server.uuid})
            wanted = flavors.reservation_of(instance.flavor)
            if wanted is not None and instance.host \
                    and server.vm_state != 'error':
                holding = holdings.holding_of(instance)
                self.assertEqual(wanted, holding.reservation, server.uuid)

    def assert_nothing_leaks(self):
        # One that waits for a slow host is refused, and asked for again.
        for _ in range(3):
            for server in self.api.get_servers():
                self.act(server['id'], 'delete')
            self.rest()
        for host in HOSTS:
            self.restart(host)
        self.run_periodic_tasks()
        self.assertEqual([], self.api.get_servers())
        self.assert_right_without_repair()
        self.heal()
        self.assert_audited()
        self.assert_settled()

    def chaos(self, seed):
        self.random = random.Random(seed)
        print(f'NOVA_RT_CHAOS_SEEDS={seed} '
              f'NOVA_RT_CHAOS_OPERATIONS={OPERATIONS}')
        for _ in range(OPERATIONS):
            self.step()
        self.clear_up()
        self.assert_right_without_repair()
        print(dict(self.done), self.count_moves())
        self.heal()
        self.assert_audited()
        self.assert_never_over_the_cap()
        self.assert_each_has_its_reservation()
        self.assert_nothing_leaks()


class TestChaos(Chaos):
    """With containers."""

    def make_kernel(self, host):
        fake_driver.FakeContainerDriver.kernels[host] = fake_driver.WatchedKernel(
            cloud.PCPUS, multi=True)

    def end_running(self, kernel, server):
        (pid,) = [pid for pid, group in kernel.pids.items()
                  if group == f'machine/{server}']
        kernel.stop(pid)


class TestChaosOfMachines(Chaos):
    """With virtual machines, which are migrated live as well."""

    compute_driver = 'fake.FakeMachineDriver'
    possible = POSSIBLE_FOR_MACHINES

    def make_kernel(self, host):
        fake_machine_driver.FakeMachineDriver.hypervisors[host] = (
            fake_machine_driver.FakeHypervisor(cloud.PCPUS))

    def end_running(self, kernel, server):
        kernel.destroy(server)

    def assert_never_over_the_cap(self):
        super().assert_never_over_the_cap()
        for host, compute in self.computes.items():
            self.assertEqual([], self.kernel_of(compute).overcommits, host)


def _test(seed):
    def test(self):
        self.chaos(seed)
    return test


def _add_tests(case, seeds):
    for seed in seeds:
        setattr(case, f'test_after_chaos_all_say_the_same_with_seed_{seed}', _test(seed))


_add_tests(TestChaos, SEEDS)
_add_tests(TestChaosOfMachines, SEEDS_OF_MACHINES)
