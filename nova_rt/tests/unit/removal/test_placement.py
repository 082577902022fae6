# SPDX-License-Identifier: Apache-2.0
"""nova-rt's part of Placement, over a stand-in for Nova's client."""

from types import SimpleNamespace

import pytest

from nova_rt.removal import placement

CLASS = '/resource_classes/CUSTOM_RT_SHARE'
INVENTORY = '/resource_providers/{}/inventories/CUSTOM_RT_SHARE'
TRAITS = '/resource_providers/{}/traits'


class Client:
    """Has documents by their address, and refuses what Placement would."""

    def __init__(self):
        self.there = {CLASS: {}, '/traits/CUSTOM_HCBS': {}, '/resource_providers': {
            'resource_providers': [{'uuid': uuid, 'name': f'name of {uuid}'}
                                   for uuid in ('a', 'b', 'c')]}}
        self.shares = {'a': {'server': 5}, 'b': {}, 'c': {}}
        for uuid in 'ab':
            self.there[INVENTORY.format(uuid)] = {}
            self.there[TRAITS.format(uuid)] = {
                'traits': ['COMPUTE_NODE', 'CUSTOM_HCBS'], 'resource_provider_generation': 3}
        self.status = 0

    def get(self, url, version, global_request_id):
        found = self.there.get(url)
        status = self.status or (404 if found is None else 200)
        return SimpleNamespace(status_code=status, json=lambda: found)

    def put(self, url, data, version, global_request_id):
        self.there[url] = data

    def delete(self, url, version, global_request_id):
        uuid = url.split('/')[2]
        if not self.in_use(url, uuid):
            self.there.pop(url, None)

    def in_use(self, url, uuid):
        return bool(self.shares.get(uuid)) if 'inventories' in url else any(
            'inventories' in each for each in self.there)

    def get_allocations_for_resource_provider(self, context, uuid):
        return SimpleNamespace(allocations={
            consumer: {'resources': {'CUSTOM_RT_SHARE': share, 'VCPU': 1}}
            for consumer, share in self.shares[uuid].items()})

    def get_allocs_for_consumer(self, context, consumer):
        return {'allocations': {'a': {'resources': {'CUSTOM_RT_SHARE': 5, 'VCPU': 1}}}}

    def put_allocations(self, context, consumer, payload):
        assert payload['allocations'] == {'a': {'resources': {'VCPU': 1}}}
        self.shares['a'] = {}
        return True


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def there(client):
    return placement.Placement(SimpleNamespace(global_id='req'), client)


def test_what_hosts_offer_and_what_is_known_is_left(there):
    left = there.left()
    assert left.providers == {'a': 'name of a', 'b': 'name of b'}
    assert left.names == ['CUSTOM_RT_SHARE', 'CUSTOM_HCBS']


def test_all_of_it_is_removed_and_other_traits_stay(there, client):
    there.clear(set(), set())
    assert there.left() == placement.Left({}, [])
    assert client.there[TRAITS.format('a')]['traits'] == ['COMPUTE_NODE']


def test_a_host_that_still_offers_a_share_is_left_as_it_is(there, client):
    there.clear({'b'}, set())
    assert there.left().providers == {'b': 'name of b'}
    assert 'CUSTOM_RT_SHARE' in there.left().names


def test_a_host_of_a_server_that_keeps_its_share_is_left_as_it_is(there, client):
    there.clear(set(), {'server'})
    assert there.left().providers == {'a': 'name of a'}
    assert client.shares['a'] == {'server': 5}


def test_an_answer_that_is_none_is_not_taken_for_nothing_left(there, client):
    client.status = 503
    with pytest.raises(placement.RefusedError, match='503'):
        there.left()
