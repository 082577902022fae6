# SPDX-License-Identifier: Apache-2.0
"""A cloud whose hosts react to misses, what can happen in it, and how it is at first again.

Nova's services and Placement are real; libvirt and the kernels are stand-ins, and time, misses
and the threads that react to them go on by hand (:mod:`by_hand`).
"""

import collections
import contextlib
import dataclasses
import pathlib
import random

import fixtures
from nova import context as nova_context
from nova import objects

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.instance import compute_call
from nova_rt.instance import flavors
from nova_rt.instance import hint_update
from nova_rt.instance import vcpu_move_request
from nova_rt.testing import cloud
from nova_rt.testing import zero_lag_kernel
from nova_rt.tests.functional import by_hand
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import messages
from nova_rt.virt import loans
from nova_rt.virt import shrinks

PERIOD_US = 10_000
# Less than the kernel admits, so that it does not refuse what is too much.
CAP = bandwidth.fraction_to_bandwidth(0.9)
LEND_FOR_S = 60.0
EVICT_FOR_S = 120.0
# Longer than anything lasts: loans, closed hosts, and pauses between attempts.
LONG_S = 4000.0
PATIENCE_S = 300


@dataclasses.dataclass(frozen=True)
class What:
    """A server as it is at first.

    :ivar percents: of a CPU, on each vCPU
    :ivar least: with which it can live, in percent
    """

    host: str
    percents: int
    vcpus: int
    letter: str | None
    least: int | None = None


# The first host is full, on the second there is room for moves.
SERVERS = (
    What('host1', 20, 4, 'C'), What('host1', 20, 1, 'C'), What('host1', 20, 4, 'B', 5),
    What('host1', 15, 2, 'B'), What('host1', 20, 4, 'A', 4), What('host1', 10, 1, None),
    What('host2', 20, 1, 'C'), What('host2', 30, 1, 'B'), What('host2', 40, 1, 'A', 10),
    What('host2', 25, 2, 'C'), What('host2', 20, 1, None, 5),
    What('host3', 30, 4, 'C'), What('host3', 30, 4, 'A', 10), What('host3', 10, 2, 'B'))
HOSTS = tuple(dict.fromkeys(each.host for each in SERVERS))


@dataclasses.dataclass
class Server:
    """One of SERVERS.

    :ivar flavor: its id
    :ivar runtime_us: of its reservation, as Nova has it
    :ivar runs: whether its user wants it to run
    """

    number: int
    id: str
    flavor: str
    runtime_us: int
    runs: bool = True
    locked: bool = False

    @property
    def what(self):
        return SERVERS[self.number]

    @property
    def own(self):
        """The bandwidth of its reservation on each vCPU."""
        return bandwidth.to_bandwidth(self.runtime_us, PERIOD_US)


class ReactingCloud(cloud.CloudTestCase):
    """Hosts with servers, and all that can happen to them.

    :ivar random: by which it is chosen
    :ivar focus: the host to which most happens
    :ivar host_of: by number of a server, where it is
    :ivar changed: the one that was given another reservation last
    :ivar done: how often what was done
    """

    def setUp(self):
        self.messages = self.useFixture(messages.Messages())
        super().setUp()
        self.clock = self.useFixture(by_hand.Clock())
        self.useFixture(by_hand.Reactions())
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.flags(manager_shutdown_timeout=0, rpc_response_timeout=PATIENCE_S,
                   allow_resize_to_same_host=True)
        self.flags(hear_misses=True, lend_after_misses=2, miss_window=30.0, lend_most=0.4,
                   lend_for=LEND_FOR_S, move_on_misses=True, evict_on_misses=True,
                   evict_for=EVICT_FOR_S, group='rt')
        self.random = random.Random(0)
        self.changed = None
        self.done = collections.Counter()
        self.admin = nova_context.get_admin_context()
        for host in HOSTS:
            self.open(host)
        self.addCleanup(self.kill_all)
        self.flavors = [self.flavor_of(each) for each in SERVERS]
        self.servers = [self.new_server(number) for number in range(len(SERVERS))]
        self.home = self.places()
        self.host_of = [each.host for each in SERVERS]

    def open(self, host):
        cloud.FakeContainerDriver.kernels[host] = zero_lag_kernel.ZeroLagKernel(
            cloud.PCPUS, CAP)
        cloud.FakeContainerDriver.books[host] = loans.Loans(pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'loans'))
        self.start(host, (CAP,) * cloud.PCPUS)

    def kill_all(self):
        for host in HOSTS:
            self.messages.kill(self.manager(host))

    def flavor_of(self, what):
        return self.make_flavor(what.percents, what.vcpus, PERIOD_US, **{
            name: value for name, value in (
                (criticality.EXTRA_SPEC, what.letter),
                (elastic.EXTRA_SPEC, what.least and str(PERIOD_US * what.least // 100)))
            if value})

    def new_server(self, number):
        what = SERVERS[number]
        body = self._build_server(
            flavor_id=self.flavors[number], networks='none', az=f'nova:{what.host}')
        server = self._wait_for_state_change(
            self.admin_api.post_server({'server': body}), 'ACTIVE')
        return Server(number, server['id'], self.flavors[number],
                      PERIOD_US * what.percents // 100)

    # What is there

    def manager(self, host):
        return self.computes[host].manager

    def kernel(self, host):
        return self.kernel_of(self.computes[host])

    def loans_on(self, host):
        return [loan for loan in loans.Loans(cloud.FakeContainerDriver.books[host].folder)
                if loan.returned_s is None]

    def shrinks_on(self, host):
        return list(shrinks.Shrinks(cloud.FakeContainerDriver.books[host].folder))

    def rows(self):
        """Return what Nova's database has of each server, by its number in SERVERS."""
        found = {row.uuid: row for row in self.ask_database(
            'SELECT i.uuid, i.host, i.vm_state, i.task_state, '
            "MAX(CASE WHEN m.key = 'rt_pcpus' THEN m.value END) AS pcpus, "
            "MAX(CASE WHEN m.key = 'rt_evicted' THEN m.value END) AS mark, "
            "MAX(CASE WHEN m.key IN ('rt_in_place', 'rt_hint_due') THEN m.key END) AS changing "
            'FROM instances AS i LEFT JOIN instance_system_metadata AS m '
            'ON m.instance_uuid = i.uuid AND m.deleted = 0 '
            'WHERE i.deleted = 0 GROUP BY i.uuid')}
        self.assertEqual({server.id for server in self.servers}, found.keys())
        return [found[server.id] for server in self.servers]

    def places(self):
        """Return where servers are, as long as nothing is done with them."""
        return [(row.vm_state, row.task_state, row.host, ledger.from_mask(row.pcpus),
                 server.runtime_us) for server, row in self.with_rows()]

    def with_rows(self):
        """Return each server, and what Nova's database has of it."""
        return list(zip(self.servers, self.rows(), strict=True))

    def any_server(self):
        """Return a server of the host to which most happens."""
        return self.random.choice([
            server for server in self.servers if self.host_of[server.number] == self.focus])

    # Services

    def rest(self):
        self.assertTrue(self.messages.rest(PATIENCE_S))

    def as_service(self, host, call):
        """Do something as a thread of a service does, which may be killed."""
        with (self.messages.as_service(self.manager(host)),
              contextlib.suppress(killed.Killed)):
            call()

    def go_on(self, host):
        """Let the threads of a service react, and all that they begin end."""
        reactions = self.manager(host)._reactions
        self.as_service(host, lambda: by_hand.go_on(reactions))
        self.rest()

    def update(self, host):
        """Run what a service does each minute; what fails is done the next time."""
        manager = self.manager(host)
        with contextlib.suppress(*messages.FAILURES):
            self.as_service(
                host, lambda: manager.update_available_resource(self.cell_context()))

    def look_after_evicted(self, host):
        manager = self.manager(host)
        self.as_service(host, lambda: manager._look_after_evicted(self.cell_context()))
        self.rest()

    def restart(self, host):
        """Kill a service, if nobody has, and start it again."""
        manager = self.manager(host)
        self.messages.kill(manager)
        by_hand.die(manager._reactions)
        # Nova's fixture keeps the driver, which would call the dead reactor.
        manager.driver.on_start(lambda: None)
        manager._reactions = None
        self.start(host)
        self.rest()

    # What happens

    def miss(self):
        server = self.any_server()
        if server.what.letter == 'A':
            server = self.any_server()
        by_hand.miss(self.manager(self.focus)._reactions, server.id,
                     self.random.choice((1, 2, 2, 5)), self.clock.monotonic())
        self.go_on(self.focus)

    def wait(self):
        self.clock.sleep(self.random.choice((0.005, 1.0, 20.0, 31.0, 61.0, 121.0)))
        self.go_on(self.focus)

    def minute(self):
        self.update(self.focus)

    def look(self):
        self.look_after_evicted(self.focus)

    def use(self, *names):
        """Have a user do something."""
        server = self.any_server()
        name = self.random.choice(names)
        status = self.api.api_post(
            f'/servers/{server.id}/action', {
                name: {'type': 'HARD'} if name == 'reboot' else None},
            check_response_status=[202, 403, 409]).status
        self.done[f'{name} {status}'] += 1
        if status == 202:
            if name in ('lock', 'unlock'):
                server.locked = name == 'lock'
            else:
                server.runs = name != 'os-stop'
        self.rest()

    def stop_or_start(self):
        self.use('os-stop', 'os-start')

    def reboot_or_lock(self):
        self.use('reboot', 'lock', 'unlock')

    def change(self):
        """Have an operator give a server another reservation."""
        server = self.any_server()
        least = server.what.least or server.what.percents - 5
        percents = self.random.randint(least, server.what.percents + 10)
        self.set_runtime(server, PERIOD_US * percents // 100)

    def set_runtime(self, server, runtime_us):
        before = server.runtime_us
        self.changed = server
        try:
            hint_update.change(self.admin, server.id, reservation.Times(runtime_us), CAP)
        except (compute_call.RefusedError, reservation.InvalidReservationError) as exc:
            self.done[f'change: {type(exc).__name__}'] += 1
        self.rest()
        self.kernel_forgets()
        server.runtime_us = self.runtime_of(server)
        self.assertIn(server.runtime_us, (before, runtime_us))

    def finish_changes(self):
        """Do again what an operator is told to do again."""
        for server, row in self.with_rows():
            if row.changing == 'rt_hint_due':
                hint_update.change(self.admin, server.id, reservation.Times(), CAP)
                self.done['change: finished'] += 1
        if self.changed is not None:
            self.changed.runtime_us = self.runtime_of(self.changed)

    def runtime_of(self, server):
        return flavors.reservation_of(self.instance_of({'id': server.id}).flavor).runtime_us

    def kernel_forgets(self):
        """Take what was reserved until now for used: that is not what loans are about."""
        for host in HOSTS:
            self.kernel(host).forget_uses()

    def move(self):
        """Have an operator move a vCPU."""
        server = self.any_server()
        pcpus = set(self.pcpus_of({'id': server.id}))
        others = sorted(set(range(cloud.PCPUS)) - pcpus)
        if others:
            self.move_vcpu(server, self.random.choice(sorted(pcpus)),
                           self.random.choice(others))

    def move_vcpu(self, server, source, target):
        """Return whether a vCPU was moved."""
        try:
            vcpu_move_request.move(
                self.admin, server.id, self.host_of[server.number], source, target)
        except compute_call.RefusedError as exc:
            self.done[f'move: {type(exc).__name__}'] += 1
            return False
        finally:
            self.rest()
            self.kernel_forgets()
        return True

    def resize(self):
        """Have a user resize a server, which stays where it is or goes elsewhere."""
        server = self.any_server()
        if server.locked or self.instance_of({'id': server.id}).vm_state != 'active':
            return
        others = [flavor for flavor, what in zip(self.flavors, SERVERS, strict=True)
                  if flavor != server.flavor
                  and (what.vcpus, what.letter) == (server.what.vcpus, server.what.letter)]
        if others:
            self.resize_to(server, self.random.choice(others))

    def resize_to(self, server, flavor):
        self._resize_server({'id': server.id}, flavor)
        self._confirm_resize({'id': server.id})
        self.has_moved(server)

    def has_moved(self, server):
        self.rest()
        self.kernel_forgets()
        instance = self.instance_of({'id': server.id})
        server.flavor = instance.flavor.flavorid
        server.runtime_us = flavors.reservation_of(instance.flavor).runtime_us
        self.host_of[server.number] = instance.host

    def replace(self):
        """Have a user delete a server, and have another when the host takes it."""
        server = self.any_server()
        self.api.post_server_action(server.id, {'unlock': None})
        self._delete_server({'id': server.id})
        if self.changed is server:
            self.changed = None
        self.rest()
        self.clock.sleep(EVICT_FOR_S + 1)
        self.update(server.what.host)
        self.servers[server.number] = self.new_server(server.number)
        self.host_of[server.number] = server.what.host
        self.rest()

    def stop_service(self):
        """Stop a service as an operator does, and start it again."""
        manager = self.manager(self.focus)
        # Nova's fixture would do it beside the service that starts.
        self.as_service(self.focus, manager.cleanup_host)
        manager._reactions = None
        self.start(self.focus)
        self.rest()

    # As it was at first

    def restore(self):
        """Let all be as it was before anything happened."""
        for server in self.servers:
            if not server.runs:
                self.api.post_server_action(server.id, {'os-start': None})
                server.runs = True
        self.rest()
        for server in self.servers:
            self._bring_home(server)
        by_growth = sorted(self.servers, key=lambda each: (
            PERIOD_US * each.what.percents // 100 - each.runtime_us))
        for server in by_growth:
            if server.runtime_us > PERIOD_US * server.what.percents // 100:
                self._restore_runtime(server)
        self._move_back()
        for server in by_growth:
            self._restore_runtime(server)
        self.assertEqual(self.home, self.places())

    def _bring_home(self, server):
        if server.flavor != self.flavors[server.number]:
            self.resize_to(server, self.flavors[server.number])
        if self.host_of[server.number] != server.what.host:
            self.admin_api.post_server_action(
                server.id, {'migrate': {'host': server.what.host}})
            self._wait_for_state_change({'id': server.id}, 'VERIFY_RESIZE')
            self._confirm_resize({'id': server.id})
            self.has_moved(server)

    def _restore_runtime(self, server):
        wanted = PERIOD_US * server.what.percents // 100
        if server.runtime_us == wanted:
            return
        self.set_runtime(server, wanted)
        # What its user asked for at first.
        spec = objects.RequestSpec.get_by_instance_uuid(self.admin, server.id)
        spec.scheduler_hints = {}
        spec.save()

    def _move_back(self):
        """Move vCPUs to where they were, each as soon as there is room."""
        away = True
        while away:
            away, moved = False, False
            for (server, row), (*_, home, _) in zip(
                    self.with_rows(), self.home, strict=True):
                pcpus = set(ledger.from_mask(row.pcpus))
                for source, target in zip(sorted(pcpus - set(home)), sorted(
                        set(home) - pcpus), strict=True):
                    away = True
                    moved |= self.move_vcpu(server, source, target)
            self.assertTrue(moved or not away, 'There is no room to move back.')
