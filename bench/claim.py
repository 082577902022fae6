# SPDX-License-Identifier: Apache-2.0
"""The claim compared with Nova's own, and applying to control groups.

The claim is everything that ``instance_claim`` does under the tracker's lock.
Saving the instance and the compute node and reporting to Placement, which
Nova does without us too, are replaced by fakes that do nothing.
"""

from collections.abc import Iterator
import contextlib
import types
from unittest import mock
import uuid

from nova import context as nova_context
from nova import objects
from nova.compute import claims as nova_claims
from nova.compute import resource_tracker as nova_tracker
from nova.compute import utils as compute_utils
from nova.compute import vm_states

from bench import control_groups
from bench import examples
from bench import measure
from bench import nova as bench_nova
from nova_rt import shares
from nova_rt.compute import claims
from nova_rt.compute import resource_tracker
from nova_rt.instance import holdings
from nova_rt.virt import container_host

PCPUS = 64
SERVERS = 32
ROUNDS = 40
US = 1e6
# The measurement of what both add to a spawn.
ADDED = 'claim + apply, added to Nova\'s'
NODE = 'host0'


def measurements() -> Iterator[measure.Measurement]:
    """Yield claim, application, and what both add to Nova's own work."""
    with bench_nova.running(bench_nova.Case), _nothing_saved():
        seconds = _claims()
    yield measure.compared(
        f'claim, {PCPUS} pCPUs, {SERVERS} servers', 'Nova\'s claim',
        seconds['ours'], seconds['theirs'], 'µs', US,
        notes={'database and Placement': 'fakes that do nothing'})
    applied = control_groups.apply(ROUNDS)
    yield measure.Measurement(
        f'apply, {applied.where}', 'µs', measure.Spread.of(
            [elapsed * US for elapsed in applied.seconds]), notes=applied.notes)
    added = measure.Spread.of([
        (ours - theirs + apply) * US for ours, theirs, apply
        in zip(seconds['ours'], seconds['theirs'], applied.seconds,
               strict=True)])
    yield measure.Measurement(
        ADDED, 'µs', added,
        aims=(measure.Aim('under 2 ms', added.median < 2000),))


def _claims() -> dict[str, list[float]]:
    """Return the seconds of our claims and of Nova's."""
    theirs = _Claimant(nova_tracker.ResourceTracker, nova_claims.Claim)
    ours = _Claimant(resource_tracker.RTResourceTracker, claims.RTClaim)
    seconds = measure.in_turn(
        {'ours': ours.claim, 'theirs': theirs.claim}, ROUNDS,
        before={'ours': ours.prepare, 'theirs': theirs.prepare})
    if ours.instance.system_metadata.keys() != {holdings.PCPUS}:
        raise RuntimeError('The claim chose no pCPUs.')
    return seconds


class _Claimant:
    """A tracker of a host with servers, and what claims on it."""

    def __init__(self, tracker: type[nova_tracker.ResourceTracker],
                 claim: type[nova_claims.Claim]) -> None:
        self._claim_class = claim
        self._context = nova_context.get_admin_context()
        self._claimed: nova_claims.Claim | None = None
        empty = shares.HostShares.empty((examples.CAP,) * PCPUS)
        self._tracker = tracker(NODE, types.SimpleNamespace(
            reservations=container_host.ContainerHost(None, empty),
            node_is_available=lambda node: True), mock.Mock())
        self._tracker.compute_nodes[NODE] = _compute_node()
        for _ in range(SERVERS):
            self._claimed = None
            self.prepare()
            self.claim()
        self._claimed = None

    def prepare(self) -> None:
        """Undo the last claim, and make a new server."""
        if self._claimed is not None:
            self._claimed.abort()
        self.instance = _instance()
        # Nova's tracker looks it up there.
        nova_claims.Claim = self._claim_class  # type: ignore[misc]

    def claim(self) -> None:
        """Claim for the server."""
        self._claimed = self._tracker.instance_claim(
            self._context, self.instance, NODE, {})


@contextlib.contextmanager
def _nothing_saved() -> Iterator[None]:
    with contextlib.ExitStack() as patches:
        for target, name in (
                (objects.Instance, 'save'), (objects.ComputeNode, 'save'),
                (nova_tracker.ResourceTracker, '_update_to_placement'),
                (compute_utils, 'is_volume_backed_instance')):
            patches.enter_context(
                mock.patch.object(target, name, _do_nothing))
        # Each of the two puts its own here.
        patches.enter_context(
            mock.patch.object(nova_claims, 'Claim', nova_claims.Claim))
        yield


def _do_nothing(*args: object, **kwargs: object) -> None:
    pass


def _compute_node() -> objects.ComputeNode:
    return objects.ComputeNode(
        id=1, uuid=str(uuid.uuid4()), host=NODE, hypervisor_hostname=NODE,
        vcpus=PCPUS, vcpus_used=0, memory_mb=262_144, memory_mb_used=0,
        free_ram_mb=262_144, local_gb=1000, local_gb_used=0,
        free_disk_gb=1000, disk_available_least=1000, running_vms=0,
        current_workload=0, numa_topology=None, stats={},
        pci_device_pools=objects.PciDevicePoolList(objects=[]))


def _instance() -> objects.Instance:
    flavor = examples.with_reservation(examples.WANTED)
    return objects.Instance(
        uuid=str(uuid.uuid4()), flavor=flavor, instance_type_id=1,
        host=None, node=None, launched_on=None, numa_topology=None,
        pci_requests=objects.InstancePCIRequests(requests=[]),
        pci_devices=objects.PciDeviceList(objects=[]), resources=None,
        vcpus=flavor.vcpus, memory_mb=flavor.memory_mb, root_gb=flavor.root_gb,
        ephemeral_gb=0, vm_state=vm_states.BUILDING, task_state=None,
        os_type=None, project_id='bench', user_id='bench', image_ref='bench',
        system_metadata={}, metadata={}, deleted=False)
