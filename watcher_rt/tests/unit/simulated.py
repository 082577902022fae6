# SPDX-License-Identifier: Apache-2.0
"""A stand-in for nova-rt's API: one host, whose vCPUs go where they are told.

The end-to-end tests have the real one; here it refuses and fails when a test says so.
"""

from types import SimpleNamespace
from unittest import mock

from openstack import exceptions

from nova_rt import bandwidth
from nova_rt.sdk import resources

CPU = bandwidth.BW_UNIT
SERVERS = ('11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222')


def refused(status, sentence):
    """Return what the proxy raises when the API refuses."""
    kind = {404: exceptions.NotFoundException, 409: exceptions.ConflictException}.get(
        status, exceptions.HttpException)
    return kind(message=sentence, http_status=status)


class Proxy:
    """The calls that the plug-ins make.

    :ivar where: the pCPUs of each server
    :ivar moved: which moves were made, in their order
    :ivar refuse: what the next calls raise, by the number of the call of a move
    :ivar asked: with what plans were asked for
    """

    def __init__(self):
        self.where = {SERVERS[0]: [0], SERVERS[1]: [1, 2]}
        self.moved, self.refuse, self.asked = [], {}, []
        self.balances, self.room = {}, None
        self._calls = 0

    def hosts(self):
        return [resources.Host.existing(host=name, share_used=used)
                for name, used in (('empty', 0), *((each, CPU) for each in self.balances))]

    def get_host(self, name):
        return resources.Host.existing(host=name, holdings=[
            {'server': server, 'pcpus': pcpus} for server, pcpus in self.where.items()])

    def move_vcpu(self, host, server, source, target):
        self._calls += 1
        if self._calls in self.refuse:
            raise self.refuse[self._calls]
        self.where[server] = [target if pcpu == source else pcpu for pcpu in self.where[server]]
        self.moved.append((server, source, target))

    def plan_moves(self, host, max_moves=None):
        self.asked.append((host, max_moves))
        found = self.balances[host]
        if isinstance(found, Exception):
            raise found
        return resources.Plan.existing(moves=found[:max_moves], proof='None is better.', pcpus=[
            pcpu(0, -10, 40), pcpu(1, 90, 60)])

    def plan_between_hosts(self, *asked):
        self.asked.append(asked)
        if isinstance(self.room, Exception):
            raise self.room
        return resources.PlanBetweenHosts.existing(**self.room)


def pcpu(number, before, after):
    """Return a pCPU that has so many percent left."""
    return {'pcpu': number, 'capacity': CPU, 'left_before': before * CPU // 100,
            'left_after': after * CPU // 100}


def move(server, source, target):
    """Return a move, as the API plans it."""
    return {'server': server, 'name': f'server-{server[0]}', 'bandwidth': CPU // 2,
            'source': source, 'target': target}


def put_in_place(proxy):
    """Return what has the plug-ins ask a proxy."""
    return mock.patch('watcher_rt.api.Client', return_value=SimpleNamespace(rt=proxy))
