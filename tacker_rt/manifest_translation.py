# SPDX-License-Identifier: Apache-2.0
"""Translate VDUs into claims of Kubernetes, and back."""

from collections.abc import Iterable
from collections.abc import Sequence
import re
from typing import Any

from nova_rt import reservation
from tacker_rt import claims
from tacker_rt import document
from tacker_rt import locations
from tacker_rt import manifests
from tacker_rt import problems
from tacker_rt import workloads

_MEMORY = re.compile(r'([0-9]+)([KMGT]i)')
_VDU = 'tosca.nodes.nfv.Vdu.Compute'


def template_name(workload: str, wanted: reservation.Reservation) -> str:
    """Return a name for the template of a workload.

    It contains the numbers: a template never changes, so other numbers need another one.
    """
    return f'{workload}-{wanted.runtime_us}-{wanted.period_us}-{wanted.vcpus}'


def to_claims(source: document.Document, objects: Sequence[dict[str, Any]] = (),
              ) -> list[dict[str, Any]]:
    """Return manifests in which the VDUs of a descriptor have their reservations.

    First the templates, then the objects that are given; of these, workloads of VDUs lose
    what reservation they had. What a template said of policy and priority, which no
    descriptor says, stays.

    :raises tacker_rt.problems.InvalidDescriptorError: if a container cannot have it
    :raises nova_rt.reservation.InvalidReservationError: if an object is none of Kubernetes
    """
    wanted = _wanted(source)
    old = {workloads.name_of(each): claim for each in objects if manifests.is_template(each)
           and (claim := claims.read(each)[0])}
    inits: dict[str, reservation.InitPolicy | None] = {}
    replaced: set[str] = set()
    kept = []
    for each in objects:
        name = workloads.name_of(each)
        if workloads.is_workload(each) and name in wanted:
            used = _templates(each) & set(old)
            replaced |= used
            inits[name] = next((old[template].init for template in sorted(used)), None)
            try:
                each = workloads.with_claim(workloads.without_claims(each, used),
                                            template_name(name, wanted[name]))
            except reservation.InvalidReservationError as exc:
                raise reservation.InvalidReservationError(
                    f'{each["kind"]} {name}: {exc}') from exc
        kept.append(each)
    still_used = set().union(*(_templates(each) for each in kept if workloads.is_workload(each)))
    unused = replaced - still_used
    written = [claims.write(template_name(name, reserved), claims.Claim(reserved, inits.get(name)))
               for name, reserved in wanted.items()]
    taken = unused | {workloads.name_of(each) for each in written}
    return written + [each for each in kept if not (
        manifests.is_template(each) and workloads.name_of(each) in taken)]


def _wanted(source: document.Document) -> dict[str, reservation.Reservation]:
    """Return the reservations of a descriptor's VDUs, by the names of their workloads.

    :raises tacker_rt.problems.InvalidDescriptorError: if a container cannot have one
    """
    wanted = {}
    for vdu in manifests.vdus(source):
        if vdu.wanted.hints:
            try:
                wanted[vdu.workload] = vdu.reservation()
                claims.check_count(wanted[vdu.workload].vcpus)
            except reservation.InvalidReservationError as exc:
                raise problems.InvalidDescriptorError([
                    problems.Problem(vdu.path, str(exc))]) from exc
    return wanted


def _templates(workload: dict[str, Any]) -> set[str]:
    """Return the names of the templates of a workload's pods."""
    pod = locations.at(workload, workloads.pod_path(workload))
    return set(workloads.templates(pod).values())


def to_vdus(objects: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the node templates of the workloads with a reservation, for a VNFD.

    :raises nova_rt.reservation.InvalidReservationError: if a template is wrong
    """
    objects = list(objects)
    known = {}
    for each in objects:
        if manifests.is_template(each):
            claim, wrong = claims.read(each)
            if wrong:
                raise reservation.InvalidReservationError(
                    f'{claims.KIND} {workloads.name_of(each)}: {wrong[0].sentence}')
            known[workloads.name_of(each)] = claim
    nodes = {}
    for each in objects:
        if not workloads.is_workload(each):
            continue
        pod = locations.at(each, workloads.pod_path(each))
        for name, template in workloads.templates(pod).items():
            claim = known.get(template)
            if claim:
                nodes[workloads.name_of(each)] = _vdu(each, pod, name, claim)
    return nodes


def _vdu(workload: dict[str, Any], pod: Any, name: str, claim: claims.Claim) -> dict[str, Any]:
    """Return the VDU of a workload."""
    replicas = locations.at(workload, ('spec', 'replicas'))
    count = replicas if isinstance(replicas, int) else 1
    wanted = claim.reserved
    compute: dict[str, Any] = {'virtual_cpu': {
        'num_virtual_cpu': wanted.vcpus,
        # SOL001's map holds strings.
        'vdu_cpu_requirements': {reservation.RUNTIME: str(wanted.runtime_us),
                                 reservation.PERIOD: str(wanted.period_us)}}}
    memory = _memory(pod, workloads.users(pod, name))
    if memory:
        compute['virtual_memory'] = {'virtual_mem_size': memory}
    return {'type': _VDU,
            'properties': {'name': workloads.name_of(workload),
                           'description': f'{workload["kind"]} {workloads.name_of(workload)}',
                           'vdu_profile': {'min_number_of_instances': min(count, 1),
                                           'max_number_of_instances': count}},
            'capabilities': {'virtual_compute': {'properties': compute}}}


def _memory(pod: Any, users: Sequence[str]) -> str | None:
    """Return the memory of the container with the claim, as SOL001 writes sizes."""
    for container in workloads.containers(pod):
        if str(container.get('name')) in users:
            for kind in ('limits', 'requests'):
                given = locations.at(container, ('resources', kind, 'memory'))
                match = _MEMORY.fullmatch(str(given))
                if match:
                    return f'{match[1]} {match[2]}B'
    return None
