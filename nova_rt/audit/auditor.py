# SPDX-License-Identifier: Apache-2.0
"""Audits one compute host, and repairs what can be repaired from there."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import time

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.scheduler.client import report
from oslo_log import log as logging

from nova_rt import allocations
from nova_rt import drifts
from nova_rt import shares
from nova_rt.audit import collect
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.virt import containers
from nova_rt.virt import host as virt_host
from nova_rt.virt.cgroup import errors as cgroup_errors
from nova_rt.virt.deadline import errors as deadline_errors

LOG = logging.getLogger(__name__)

_NOT_HEALED = (exception.NovaException, report.Retry, cgroup_errors.CgroupError,
               deadline_errors.DeadlineError, ProcessLookupError)


class Auditor:
    """Looks at one host from all four sides.

    :param node: the host's ComputeNode
    :param reservations: the host and its kernel
    :param running: returns the containers or virtual machines that run, by server
    """

    def __init__(
            self, context: nova_context.RequestContext,
            node: objects.ComputeNode, reservations: virt_host.Host,
            running: Callable[[], Mapping[str, containers.Container]]) -> None:
        self._context = context
        self._placement = allocations.PlacementClient(context)
        self._node = node
        self._here = (node.host, node.hypervisor_hostname)
        self._reservations = reservations
        self._running = running
        self._servers: dict[str, drifts.Server] = {}
        self._containers: Mapping[str, containers.Container] = {}

    def look(self) -> list[drifts.Drift]:
        """Return everything that differs at this moment.

        What is changing may differ now, and be right a moment later.
        """
        reported = self._reported()
        self._containers = self._running()
        kernel = self._reservations.survey(
            {uuid: container.pid
             for uuid, container in self._containers.items()})
        servers = collect.servers_on(self._context, self._here)
        self._servers = {server.uuid: server for server in servers}
        placement = collect.placement_of(
            self._context, self._placement, self._node.uuid, servers,
            self._here)
        return drifts.compare(self._reservations.empty, servers, kernel,
                              reported, placement)

    def look_twice(self, pause_s: float) -> list[drifts.Drift]:
        """Return what differs, and differs in the same way after a pause.

        The four are not read at one moment, and what Nova is about to change is
        no drift.
        """
        first = self.look()
        if not first:
            return []
        time.sleep(pause_s)
        return [drift for drift in self.look() if drift in first]

    def heal(self, drift: drifts.Drift) -> str:
        """Repair one drift, as its remedy says.

        :returns: why it could not be repaired; empty if it was
        """
        healer = _HEALERS.get(drift.kind)
        if healer is None or not drift.remedy:
            return 'only an operator can'
        try:
            healed = healer(self, drift)
        except _NOT_HEALED as exc:
            return str(exc)
        if not healed:
            return _OBSTACLES.get(drift.kind, 'there was nothing to repair it with')
        LOG.info('Healed: %s', drift.sentence)
        return ''

    def _reported(self) -> shares.HostShares | None:
        node = objects.ComputeNode.get_by_uuid(self._context, self._node.uuid)
        try:
            return shares.from_stats(node.stats or {})
        except (KeyError, ValueError) as exc:
            LOG.warning('The bandwidth that %s reports cannot be read: %s',
                        node.host, exc)
            return None

    def _apply(self, drift: drifts.Drift) -> bool:
        server = self._servers[drift.subject]
        container = self._containers.get(drift.subject)
        if container is None or server.runs is None:
            return False
        self._reservations.apply(container.pid, server.runs)
        return True

    def _take_back_budgets(self, drift: drifts.Drift) -> bool:
        self._reservations.take_back_all()
        return True

    def _record_claim(self, drift: drifts.Drift) -> bool:
        container = self._containers.get(drift.subject)
        if container is None or container.copy is None:
            return False
        instance = self._instance(drift.subject)
        holdings.set_pcpus(instance, container.copy.pcpus)
        instance.save()
        return True

    def _name_share(self, drift: drifts.Drift) -> bool:
        instance = self._instance(drift.subject)
        instance.flavor = flavors.merged(instance.flavor, None)
        instance.save()
        return True

    def _instance(self, uuid: str) -> objects.Instance:
        return objects.Instance.get_by_uuid(
            self._context, uuid, ['system_metadata', 'flavor'])

    def _correct(self, drift: drifts.Drift) -> bool:
        shares_due = self._servers[drift.subject].allocations or {}
        healed = [self._set_share(consumer, share)
                  or self._create(consumer, drift.subject)
                  for consumer, share in shares_due.items()]
        return all(healed)

    def _take_back(self, drift: drifts.Drift) -> bool:
        return self._set_share(drift.subject, 0)

    def _set_share(self, consumer: str, share: int) -> bool:
        return self._placement.set_share(consumer, self._node.uuid, share)

    def _create(self, consumer: str, uuid: str) -> bool:
        server = self._instance(uuid)
        flavor = server.flavor
        if consumer != uuid:
            # A move, which has the old side; only a resize has another flavor.
            flavor = server.old_flavor or flavor
        return self._placement.create(
            consumer, self._node.uuid, server, flavor)


_HEALERS: dict[drifts.Kind, Callable[[Auditor, drifts.Drift], bool]] = {
    drifts.Kind.KERNEL_LACKS: Auditor._apply,
    drifts.Kind.KERNEL_KEEPS: Auditor._take_back_budgets,
    drifts.Kind.CLAIM_MISSING: Auditor._record_claim,
    drifts.Kind.FLAVOR_SILENT: Auditor._name_share,
    drifts.Kind.PLACEMENT_LACKS: Auditor._correct,
    drifts.Kind.PLACEMENT_EXCEEDS: Auditor._correct,
    drifts.Kind.PLACEMENT_ORPHAN: Auditor._take_back,
}

# Why a repair did not come about.
_OBSTACLES = {
    drifts.Kind.PLACEMENT_LACKS:
        'Placement has no room for it here: first repair what it has allocated to others',
}
