# SPDX-License-Identifier: Apache-2.0
from nova.compute import provider_tree
from oslo_utils import uuidutils
import pytest

from nova_rt import bandwidth
from nova_rt import kinds
from nova_rt import shares
from nova_rt.virt import inventory

HALF = bandwidth.BW_UNIT // 2


@pytest.fixture
def tree():
    tree = provider_tree.ProviderTree()
    tree.new_root('host', uuidutils.generate_uuid())
    tree.update_inventory('host', {'VCPU': {'total': 4}})
    return tree


def test_what_a_host_does_not_offer_is_reserved(tree):
    inventory.offer(tree, 'host', shares.HostShares.empty((HALF, 0)), kinds.Kind.CONTAINER)
    offered = tree.data('host').inventory[shares.RESOURCE_CLASS]
    assert (offered['total'], offered['reserved']) == (4 * HALF, 3 * HALF)


def test_the_rest_of_the_inventory_stays(tree):
    inventory.offer(tree, 'host', shares.HostShares.empty((HALF, 0)), kinds.Kind.CONTAINER)
    assert tree.data('host').inventory['VCPU'] == {'total': 4}


def test_a_host_that_offers_nothing_has_no_trait_but_keeps_its_inventory(tree):
    inventory.offer(tree, 'host', shares.HostShares.empty((HALF,)), kinds.Kind.CONTAINER)
    assert shares.TRAIT in tree.data('host').traits
    inventory.offer(tree, 'host', shares.HostShares.empty((0,)), kinds.Kind.CONTAINER)
    provider = tree.data('host')
    assert shares.TRAIT not in provider.traits
    assert provider.inventory[shares.RESOURCE_CLASS]['reserved'] == (
        provider.inventory[shares.RESOURCE_CLASS]['total'])


def traits_after(tree, *offers):
    for capacity, kind in offers:
        inventory.offer(tree, 'host', shares.HostShares.empty(capacity), kind)
    return set(tree.data('host').traits)


@pytest.mark.parametrize('kind', kinds.Kind)
def test_a_host_has_the_trait_of_its_kind_alone(tree, kind):
    assert traits_after(tree, ((HALF,), kind)) == {shares.TRAIT, kind.trait}


def test_a_host_that_changes_its_kind_changes_its_trait(tree):
    assert traits_after(tree, ((HALF,), kinds.Kind.CONTAINER), ((HALF,), kinds.Kind.MACHINE)) == {
        shares.TRAIT, 'CUSTOM_RT_VIRTUAL_MACHINES'}


def test_a_host_that_offers_nothing_has_no_kind(tree):
    tree.add_traits('host', 'CUSTOM_OTHER')
    assert traits_after(tree, ((HALF,), kinds.Kind.MACHINE), ((0,), kinds.Kind.MACHINE)) == {
        'CUSTOM_OTHER'}
