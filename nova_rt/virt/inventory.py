# SPDX-License-Identifier: Apache-2.0
"""What a host reports to Placement of the reservations that it offers."""

from nova.compute import provider_tree

from nova_rt import bandwidth
from nova_rt import kinds
from nova_rt import shares

# The largest that Placement's database holds, not the most that the host can
# give: a server larger than what the host offers now must still be movable.
_MOST = 2 ** 31 - 1


def offer(tree: provider_tree.ProviderTree, name: str,
          empty: shares.HostShares, kind: kinds.Kind) -> None:
    """Put inventory and traits on a host's resource provider.

    The total is that of all pCPUs; what the cap, ``cpu_set`` and the kernel
    keep back is reserved. So the inventory is never removed, which Placement would
    refuse while a server has a part of it: a host that offers less than before, or
    nothing, keeps its servers and is given no more.

    :param name: of the provider, which is in the tree
    :param empty: the host without any reservation
    :param kind: that it runs; another one's trait is removed
    """
    total = len(empty.capacity) * bandwidth.BW_UNIT
    tree.update_inventory(name, dict(tree.data(name).inventory, **{
        shares.RESOURCE_CLASS: {
            'total': total,
            'reserved': total - empty.rt_share,
            'min_unit': 1,
            'max_unit': _MOST,
            'step_size': 1,
            'allocation_ratio': 1.0,
        }}))
    offered = {shares.TRAIT, kind.trait} if empty.rt_share else set()
    tree.remove_traits(
        name, *({shares.TRAIT, *(other.trait for other in kinds.Kind)} - offered))
    tree.add_traits(name, *offered)
