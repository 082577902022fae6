# SPDX-License-Identifier: Apache-2.0
"""As the functional test of that name, thousands of times: Nova's database, API and messages are
stand-ins here, and so are the kernel and the clock.

NOVA_RT_EVICTIONS_SEQUENCES is how many sequences there are (20), and NOVA_RT_EVICTIONS_SEED the
first one's seed.
"""

import collections
import os
import pathlib
import random
import time
import types
from unittest import mock

from nova import exception
from nova import objects
from oslo_config import cfg

from nova_rt import conf
from nova_rt import criticality
from nova_rt import reservation
from nova_rt import shares
from nova_rt.compute import evictions
from nova_rt.instance import eviction
from nova_rt.instance import holdings
from nova_rt.reaction import records
from nova_rt.testing import fake_kernel
from nova_rt.tests.unit.virt.test_any_order_of_shrinks import Clock
from nova_rt.virt import container_host
from nova_rt.virt import containers
from nova_rt.virt import loans
from nova_rt.virt.cgroup import detect

objects.register_all()

SEQUENCES = int(os.environ.get('NOVA_RT_EVICTIONS_SEQUENCES', '20'))
SEED = int(os.environ.get('NOVA_RT_EVICTIONS_SEED', '0'))
STEPS = 25
CAP = 900_000
PCPUS = 2
SERVERS = ((30, 'C'), (10, 'C'), (20, 'B'), (15, 'A'), (5, 'A'), (5, None))


class Dead(BaseException):
    """The service was killed."""


class AwayError(Exception):
    """The database is away; what was to be saved may have been."""


class Server(types.SimpleNamespace):
    """A copy of what the database has."""

    def save(self, expected_task_state=()):
        self.cloud.save(self, expected_task_state)

    def get_network_info(self):
        return []


class Cloud:
    """Nova and one host, as far as evictions see them."""

    def __init__(self, seed, folder, done):
        self.random = random.Random(seed)
        self.done = done
        self.rows, self.actions, self.wanted = {}, collections.defaultdict(list), {}
        self.messages, self.pids, self.faults = [], {}, []
        self.numbers = 100
        self.loses = True
        self.kernel = fake_kernel.FakeKernel(PCPUS, multi=True)
        self.book = loans.Loans(folder)
        self.begin()
        for number, (percents, letter) in enumerate(SERVERS):
            self.create(f'server{number}', percents, letter)

    def create(self, uuid, percents, letter):
        specs = {reservation.EXTRA_SPECS[0]: str(percents * 100),
                 reservation.EXTRA_SPECS[1]: '10000'}
        if letter:
            specs[criticality.EXTRA_SPEC] = letter
        self.rows[uuid] = {
            'uuid': uuid, 'vm_state': 'active', 'task_state': None, 'locked': False,
            'node': 'node', 'host': 'host', 'project_id': 'project',
            'system_metadata': {holdings.PCPUS: '3'},
            'flavor': objects.Flavor(vcpus=PCPUS, memory_mb=64, extra_specs=specs)}
        self.wanted[uuid] = True
        self.run(uuid)

    # A service

    def begin(self):
        found = detect.detect(self.kernel, PCPUS)
        self.reservations = container_host.ContainerHost(
            found, shares.HostShares.empty([CAP] * PCPUS, found.occupancy), book=self.book)
        self.reservations._confinement = mock.Mock()
        self.compute_api = self.compute_rpcapi = self.driver = self
        self.host = 'host'
        self.evictions = evictions.Evictions(self, self)
        self.update()

    def restart(self):
        self.faults, self.messages = [], []
        self.begin()
        for uuid, row in self.rows.items():
            if row['task_state'] is not None:
                self.messages.append((row['task_state'], uuid))
        self.deliver()

    def update(self):
        self.reservations.reconcile(
            (pid, holdings.holding_of(self.fetch(None, uuid)))
            for uuid, pid in self.pids.items())
        self.evicted = {uuid: mark for uuid in self.rows
                        if (mark := eviction.mark_of(self.fetch(None, uuid))) is not None}

    def running(self):
        return {uuid: containers.Container(pid) for uuid, pid in self.pids.items()}

    def node_of(self, instance):
        return 'node'

    def close(self, instance, mark):
        self.fail()
        self.evicted[instance.uuid] = mark

    # Nova's database

    def fetch(self, context, uuid):
        if uuid not in self.rows:
            raise exception.InstanceNotFound(instance_id=uuid)
        row = self.rows[uuid]
        return Server(cloud=self, **{**row, 'system_metadata': dict(row['system_metadata'])})

    def all(self, context, host, expected_attrs):
        self.fail()
        return [self.fetch(None, uuid) for uuid in self.rows]

    def save(self, server, expected):
        self.fail()
        row = self.rows[server.uuid]
        if row['task_state'] not in expected:
            raise exception.UnexpectedTaskStateError(
                instance_uuid=server.uuid, expected=expected, actual=row['task_state'])
        for name in ('vm_state', 'task_state', 'system_metadata'):
            row[name] = getattr(server, name)
        self.fail()

    def act(self, uuid, action, request):
        self.numbers += 1
        self.actions[uuid].append(types.SimpleNamespace(
            id=self.numbers, action=action, request_id=request))

    def fail(self):
        if self.faults:
            fault = self.faults.pop()
            if fault is not None:
                self.done[fault.__name__] += 1
                raise fault

    # Nova's API, and the messages

    def stop(self, context, server):
        self._order(context, server, 'active', 'powering-off', 'stop')

    def start(self, context, server):
        self._order(context, server, 'stopped', 'powering-on', 'start')

    def _order(self, context, server, state, task, action):
        if server.vm_state != state or server.task_state is not None:
            raise exception.InstanceInvalidState(
                attr='vm_state', instance_uuid=server.uuid, state=state, method=action)
        server.task_state = task
        server.save(expected_task_state=[None])
        self.act(server.uuid, action, context.request_id)
        self.fail()
        self.messages.append((task, server.uuid))

    def stop_instance(self, context, server):
        self.messages.append(('powering-off', server.uuid))

    def start_instance(self, context, server):
        self.messages.append(('powering-on', server.uuid))

    def deliver(self, refused=False):
        while self.messages:
            task, uuid = self.messages.pop(0)
            row = self.rows.get(uuid)
            if row is None or row['task_state'] != task:
                continue
            if (task == 'powering-off' and self.loses
                    and eviction.MARK in row['system_metadata']
                    and self.random.random() < 0.05):
                self.done['lost stop'] += 1
                continue
            row['task_state'] = None
            if task == 'powering-off':
                self.end(uuid)
                row['vm_state'] = 'stopped'
                self.evictions.made_room()
            elif not (refused and self.is_ours(uuid)):
                self.run(uuid)
                row['vm_state'] = 'active'

    def is_ours(self, uuid):
        """Return whether it was not its user who has just started a server."""
        mark = eviction.mark_of(self.fetch(None, uuid))
        return (mark is not None and mark.again
                and not eviction.taken_over(mark, self.actions[uuid]))

    def run(self, uuid):
        self.numbers += 1
        self.pids[uuid] = self.numbers
        self.kernel.start(self.numbers, f'machine/{uuid}')
        self.reservations.apply(self.numbers, holdings.holding_of(self.fetch(None, uuid)))

    def end(self, uuid):
        self.kernel.stop(self.pids.pop(uuid))
        self.reservations.take_back(f'machine/{uuid}')

    # What happens

    def miss(self):
        uuid = self.random.choice(['server0', *self.pids])
        if uuid in self.pids:
            asked_s = time.monotonic()
            lent = self.reservations.lend(self.pids[uuid], CAP, time.monotonic() + 60)
            self.done['loan'] += bool(lent)
            self.done['eviction'] += self.evictions.evict(uuid, CAP, asked_s)

    def use(self):
        uuid = self.random.choice(list(self.rows))
        name = self.random.choice(('stop', 'start', 'lock', 'replace'))
        if name == 'lock':
            self.rows[uuid]['locked'] = not self.rows[uuid]['locked']
            self.act(uuid, 'lock', 'theirs')
        elif name != 'replace':
            try:
                getattr(self, name)(types.SimpleNamespace(request_id='theirs'),
                                    self.fetch(None, uuid))
            except exception.InstanceInvalidState:
                return
            self.wanted[uuid] = name == 'start'
        elif self.rows[uuid]['task_state'] is None and self.random.random() < 0.3:
            if uuid in self.pids:
                self.end(uuid)
            del self.rows[uuid]
            self.create(uuid, *SERVERS[int(uuid[-1])])
            self.actions.pop(uuid, None)
        self.done[name] += 1

    def give_back(self):
        for pid in self.pids.values():
            self.reservations.give_back(pid)

    def look(self):
        if self.random.random() < 0.5:
            self.update()
        self.evictions.look(None)

    def step(self, clock):
        call = self.random.choices(
            (self.miss, self.use, self.look, self.give_back, self.update), (8, 5, 4, 2, 1))[0]
        if call in (self.miss, self.look) and self.random.random() < 0.3:
            self.faults = [self.random.choice((Dead, AwayError)),
                           *[None] * self.random.randrange(8)]
        try:
            call()
        except AwayError:
            self.done['away'] += 1
        except Dead:
            self.restart()
        self.faults = []
        if self.random.random() < 0.8:
            self.deliver(self.random.random() < 0.1)
        clock.wait(self.random.choice((0, 0, 1, 400)))
        for uuid, row in self.rows.items():
            if SERVERS[int(uuid[-1])][1] in ('C', None):
                assert eviction.MARK not in row['system_metadata']

    def assert_ends_well(self, clock):
        self.loses = False
        for row in self.rows.values():
            row['locked'] = False
        for _ in range(8):
            self.deliver()
            self.give_back()
            clock.wait(400)
            self.update()
            self.evictions.look(None)
        self.deliver()
        self.update()
        for uuid, row in self.rows.items():
            assert (row['vm_state'], row['task_state']) == (
                'active' if self.wanted[uuid] else 'stopped', None), uuid
            assert (uuid in self.pids) == self.wanted[uuid]
            assert eviction.MARK not in row['system_metadata']
            if uuid in self.pids:
                own = holdings.holding_of(self.fetch(None, uuid)).reservation.bandwidth
                assert self.kernel.bandwidths(f'machine/{uuid}') == [own] * PCPUS


def test_all_run_whose_users_want_it_and_no_others(tmp_path, monkeypatch):
    conf.register_opts(cfg.CONF)
    monkeypatch.setattr(records, 'write', lambda *args: None)
    done = collections.Counter()
    for seed in range(SEED, SEED + SEQUENCES):
        clock = Clock()
        try:
            with mock.patch.object(time, 'time', clock.look):
                _sequence(seed, pathlib.Path(tmp_path, str(seed)), clock, done, monkeypatch)
        except BaseException:
            print('seed', seed)
            raise
        finally:
            clock.end()
    print(SEQUENCES, 'sequences:', dict(done))
    assert done['eviction'] > SEQUENCES


def _sequence(seed, folder, clock, done, monkeypatch):
    cloud = Cloud(seed, folder, done)
    monkeypatch.setattr(objects.InstanceList, 'get_by_host', cloud.all)
    monkeypatch.setattr(holdings, 'fetch', cloud.fetch)
    monkeypatch.setattr(objects.InstanceActionList, 'get_by_instance_uuid',
                        lambda context, uuid: cloud.actions[uuid])
    for _ in range(STEPS):
        cloud.step(clock)
    cloud.assert_ends_well(clock)
