# SPDX-License-Identifier: Apache-2.0
"""Whether the Kubernetes manifests of a package reserve what its descriptor says.

As Tacker does, a VDU is found in the manifests by its property ``name``: it is that of a
Deployment, StatefulSet, DaemonSet, ReplicaSet or Pod. Flavours may have VDUs and workloads of
one name: each VDU must agree with one of these workloads, and each workload with one of the VDUs.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
from typing import Any

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation
from tacker_rt import claims
from tacker_rt import document
from tacker_rt import locations
from tacker_rt import problems
from tacker_rt import reader
from tacker_rt import request
from tacker_rt import validation
from tacker_rt import values
from tacker_rt import workloads

_NAME = ('properties', 'name')
_OF_SERVERS = (criticality.NAME, elastic.NAME)
_TRANSLATE = '"tacker-rt claims" writes it'

# One with a reservation; the claim is None if the template is wrong.
Template = tuple[document.Document, claims.Claim | None]


@dataclasses.dataclass(frozen=True)
class Vdu:
    """A VDU, and the name of its workload.

    :ivar wanted: what it asks for
    :ivar vcpus: its number of vCPUs
    """

    source: document.Document
    node: str
    workload: str
    wanted: request.VduRequest
    vcpus: values.Number

    @property
    def shown(self) -> str:
        """The VDU as a sentence names it."""
        return f'VDU {self.node} of {self.source.file}'

    @property
    def path(self) -> problems.Path:
        """Where the VDU is in its descriptor."""
        return (validation.TOPOLOGY, validation.TEMPLATES, self.node)

    def report(self, sentence: str) -> document.Report:
        """Return a problem with the VDU itself."""
        return document.Report(self.source.file, self.source.line(self.path),
                               f'VDU {self.node}: {sentence}')

    def reservation(self) -> reservation.Reservation:
        """Return what a container of the VDU reserves.

        :raises nova_rt.reservation.InvalidReservationError: if a manifest cannot say it
        """
        for name, value in self.wanted.hints.items():
            if name in _OF_SERVERS:
                raise reservation.InvalidReservationError(
                    f'{name} is for servers, and no manifest can say it: leave it out.')
            if not isinstance(value, int):
                raise reservation.InvalidReservationError(
                    f'{name} is an input, which a manifest does not have: give the number.')
        runtime_us, period_us = self.wanted.runtime_us, self.wanted.period_us
        if not (isinstance(runtime_us, int) and isinstance(period_us, int)):
            raise reservation.InvalidReservationError(
                f'A container has no flavor: give both {" and ".join(reservation.HINTS)}.')
        if not isinstance(self.vcpus, int):
            raise reservation.InvalidReservationError(
                'The number of vCPUs is an input, which a manifest does not have: give the '
                'number.')
        return reservation.Reservation(runtime_us, period_us, self.vcpus)


def vdus(source: document.Document) -> list[Vdu]:
    """Return the VDUs of a descriptor, none if it has any problem."""
    wanted, wrong = validation.validate(source.content)
    if wrong:
        return []
    nodes = locations.at(source.content, (validation.TOPOLOGY, validation.TEMPLATES)) or {}
    return [Vdu(source, node, str(name), asked,
                reader.vcpus(nodes[node], asked) if asked.hints else 1)
            for node, asked in wanted.items()
            if (name := locations.at(nodes[node], _NAME)) or asked.hints]


def validate(descriptors: Iterable[document.Document],
             objects: Sequence[document.Document]) -> Iterator[document.Report]:
    """Yield where manifests contradict descriptors, or are wrong in themselves.

    Nothing if no object makes pods: then the package is not of containers.

    :param objects: the objects in the manifests
    """
    if not any(workloads.is_workload(each.content) for each in objects):
        return
    known: list[Template] = []
    templates = [each for each in objects if is_template(each.content)]
    for each in templates:
        if not workloads.name_of(each.content):
            yield _report(each, 'It has no name: give it one.')
        claim, wrong = claims.read(each.content)
        if claim or wrong:
            known.append((each, claim))
        yield from (_report(each, problem.sentence, problem.path) for problem in wrong)
    present = {workloads.name_of(each.content) for each in templates}
    asked: dict[str, list[Vdu]] = {}
    for vdu in (vdu for source in descriptors for vdu in vdus(source)):
        asked.setdefault(vdu.workload, []).append(vdu)
    for name, of_name in asked.items():
        made = [each for each in objects if workloads.is_workload(each.content)
                and workloads.name_of(each.content) == name]
        yield from (vdu.report(f'The manifests have no {", ".join(workloads.KINDS[:-1])} or '
                               f'{workloads.KINDS[-1]} named {name}.')
                    for vdu in of_name if vdu.wanted.hints and not made)
        table = [[list(_compare(vdu, each, known, present)) for each in made]
                 for vdu in of_name]
        yield from _disagreements(table if made else [])


def _disagreements(table: Sequence[Sequence[list[document.Report]]]) -> Iterator[document.Report]:
    """Yield why a row or a column has no pair that agrees: what the closest pair differs in."""
    closest = [min(pairs, key=len) for pairs in (*table, *zip(*table, strict=True))]
    yield from dict.fromkeys(report for reports in closest for report in reports)


def is_template(content: Any) -> bool:
    """Return whether an object is a ResourceClaimTemplate, of any version."""
    return (isinstance(content, dict) and content.get('kind') == claims.KIND
            and str(content.get('apiVersion')).startswith(claims.GROUP + '/'))


def _report(source: document.Document, sentence: str,
            path: problems.Path = ()) -> document.Report:
    """Return a problem with an object of a manifest."""
    shown = f'{source.content["kind"]} {workloads.name_of(source.content)}'.rstrip()
    line = source.line(path or ('metadata', 'name'))
    return document.Report(source.file, line, f'{shown}: {sentence}')


def _compare(vdu: Vdu, workload: document.Document, known: Iterable[Template],
             present: Collection[str]) -> Iterator[document.Report]:
    """Yield where the pods of a workload differ from their VDU.

    :param present: the names of all templates, also of other drivers' claims
    """
    pod = locations.at(workload.content, workloads.pod_path(workload.content))
    named = workloads.templates(pod)
    # Of two of one name, that in the workload's own file.
    by_name = {workloads.name_of(each[0].content): each for each in sorted(
        known, key=lambda each: each[0].file == workload.file)}
    ours = {name: by_name[template] for name, template in named.items() if template in by_name}
    if not vdu.wanted.hints:
        if ours:
            yield _report(workload, f'Its pods have a reservation, but {vdu.shown} has none: '
                          'write it under virtual_cpu as vdu_cpu_requirements.')
        return
    try:
        wanted = vdu.reservation()
    except reservation.InvalidReservationError as exc:
        yield vdu.report(str(exc))
        return
    lost = [template for template in named.values() if template not in present]
    if lost and not ours:
        yield _report(workload, f'Its pods need the {claims.KIND} {lost[0]}, which none of '
                      f'the manifests has: add it; {_TRANSLATE}.')
    elif len(ours) == 1:
        (name, (template, claim)), = ours.items()
        # A template that is wrong in itself has been reported.
        if claim:
            yield from _differences(vdu, wanted, template, claim)
        yield from _container(workload, pod, name,
                              claims.request_of(template.content) if claim else None)
    else:
        yield _report(workload, f'Its pods have {len(ours)} claims with a reservation, but '
                      f'{vdu.shown} has one reservation: give them one claim; {_TRANSLATE}.')


def _container(workload: document.Document, pod: Any, claim: str,
               request: str | None) -> Iterator[document.Report]:
    """Yield why the claim of a pod would not be that of one container, or not in force.

    :param request: of the claim, for pCPUs; None if the template is wrong
    """
    users = workloads.users(pod, claim, request)
    if len(users) != 1:
        named = workloads.users(pod, claim) != users
        yield _report(workload, f'{len(users)} containers have the claim {claim}, which is for '
                      'one: name it in resources.claims of one container'
                      + (f', with the request {request} or none.' if named else '.'))
    if not workloads.is_guarded(pod):
        yield _report(workload, 'Where the driver does not run, its containers would be '
                      'created and ended again and again: to have them wait, give its pods the '
                      f'annotation {workloads.ANNOTATION}: "[{workloads.PLUGIN}]".')


def _differences(vdu: Vdu, wanted: reservation.Reservation, template: document.Document,
                 claim: claims.Claim) -> Iterator[document.Report]:
    """Yield each number of a template that is not the VDU's."""
    count, parameters = claims.paths(template.content)
    given = claim.reserved
    pairs = [(reservation.RUNTIME, (*parameters, reservation.RUNTIME), given.runtime_us,
              wanted.runtime_us),
             (reservation.PERIOD, (*parameters, reservation.PERIOD), given.period_us,
              wanted.period_us)]
    if not claim.every:
        pairs.append(('The number of vCPUs (count)', count, given.vcpus, wanted.vcpus))
    for name, path, here, expected in pairs:
        if here != expected:
            yield _report(template, f'{name} is {here} here and {expected} in {vdu.shown}: '
                          'make them the same.', path)
