# SPDX-License-Identifier: Apache-2.0
"""A reservation as a ResourceClaimTemplate of Kubernetes.

The form is that of ``doc/source/mano/kubernetes.rst``; the refusals are those of
``kubernetes/deploy/claims-policy.yaml``, in its words.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from nova_rt import reservation
from nova_rt import wording
from tacker_rt import locations
from tacker_rt import problems

GROUP, VERSION = 'resource.k8s.io', 'v1'
API_VERSION = f'{GROUP}/{VERSION}'
KIND = 'ResourceClaimTemplate'
DRIVER = 'nova-rt.cpu'
CLASS = 'rt-pcpu'
# Its only device is all pCPUs of a node, so its count is not that of vCPUs.
EVERY_CLASS = 'rt-every-pcpu'
MOST_VCPUS = 32

_REQUEST = 'vcpus'
_ATTRIBUTE = f'{DRIVER}/pcpu'
_TYPE = {'apiVersion': f'{DRIVER}/v1', 'kind': 'Reservation'}
_INIT = (reservation.POLICY, reservation.PRIORITY)
_KNOWN = (*_TYPE, *reservation.HINTS, *_INIT)
_DEVICES = ('spec', 'spec', 'devices')


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """What a ResourceClaimTemplate asks for.

    :ivar reserved: by each pod; its vCPUs are 1 if ``every``
    :ivar init: the policy of the container's init, None to leave it
    :ivar every: whether it takes its bandwidth from every pCPU of a node
    """

    reserved: reservation.Reservation
    init: reservation.InitPolicy | None = None
    every: bool = False


class _WrongError(Exception):
    """One problem with a template."""

    def __init__(self, path: problems.Path, sentence: str) -> None:
        super().__init__(sentence)
        self.problem = problems.Problem((*_DEVICES, *path), sentence)


def write(name: str, claim: Claim) -> dict[str, Any]:
    """Return the ResourceClaimTemplate of a claim.

    :raises nova_rt.reservation.InvalidReservationError: if a claim cannot hold it
    """
    wanted = claim.reserved
    check_count(wanted.vcpus)
    exactly = {'deviceClassName': EVERY_CLASS if claim.every else CLASS,
               'count': wanted.vcpus,
               'capacity': {'requests': {'bandwidth': str(wanted.bandwidth)}}}
    parameters: dict[str, Any] = {
        **_TYPE, reservation.RUNTIME: wanted.runtime_us, reservation.PERIOD: wanted.period_us}
    if claim.init:
        parameters |= dict(zip(_INIT, (claim.init.policy, claim.init.priority), strict=True))
    devices: dict[str, Any] = {'requests': [{'name': _REQUEST, 'exactly': exactly}]}
    if wanted.vcpus > 1:
        devices['constraints'] = [{'requests': [_REQUEST], 'distinctAttribute': _ATTRIBUTE}]
    devices['config'] = [{'requests': [_REQUEST],
                          'opaque': {'driver': DRIVER, 'parameters': parameters}}]
    return {'apiVersion': API_VERSION, 'kind': KIND, 'metadata': {'name': name},
            'spec': {'spec': {'devices': devices}}}


def read(template: Mapping[str, Any]) -> tuple[Claim | None, list[problems.Problem]]:
    """Return what a ResourceClaimTemplate asks of our driver, and what is wrong with it.

    None without a problem if it asks for other devices only.
    """
    version = template.get('apiVersion', API_VERSION)
    if version != API_VERSION:
        return None, [problems.Problem(('apiVersion',), (
            f'It is of the version {wording.shown(version)}, which is not read: write it as '
            f'{API_VERSION}.'))]
    devices = locations.at(template, _DEVICES)
    if not (_requests(devices) or _configs(devices) or _alternatives(devices)):
        return None, []
    try:
        return _read(devices), []
    except _WrongError as exc:
        return None, [exc.problem]


def paths(template: Mapping[str, Any]) -> tuple[problems.Path, problems.Path]:
    """Return where a template that is right has its number of vCPUs, and its parameters."""
    devices = locations.at(template, _DEVICES)
    return ((*_DEVICES, 'requests', _requests(devices)[0][0], 'exactly', 'count'),
            (*_DEVICES, 'config', _configs(devices)[0][0], 'opaque', 'parameters'))


def request_of(template: Mapping[str, Any]) -> str:
    """Return the name of the request for pCPUs in a template that is right."""
    return str(_requests(locations.at(template, _DEVICES))[0][1].get('name'))


def _requests(devices: Any) -> list[tuple[int, Any]]:
    """Return the requests for our devices, with their indexes."""
    return [(index, request) for index, request in _items(devices, 'requests')
            if locations.at(request, ('exactly', 'deviceClassName')) in (CLASS, EVERY_CLASS)]


def _configs(devices: Any) -> list[tuple[int, Any]]:
    """Return the configurations for our driver, with their indexes."""
    return [(index, config) for index, config in _items(devices, 'config')
            if locations.at(config, ('opaque', 'driver')) == DRIVER]


def _alternatives(devices: Any) -> list[tuple[int, Any]]:
    """Return the requests that may get our devices or others, with their indexes."""
    return [(index, request) for index, request in _items(devices, 'requests')
            if any(each.get('deviceClassName') in (CLASS, EVERY_CLASS)
                   for _, each in _items(request, 'firstAvailable'))]


def _read(devices: Any) -> Claim:
    """Return the claim of devices; the checks have the policy's order."""
    _check_form(devices)
    (index, request), = _requests(devices)
    (at_config, config), = _configs(devices)
    exactly, path = request['exactly'], ('requests', index, 'exactly')
    count = 1 if exactly.get('count') is None else exactly['count']
    if not isinstance(count, int) or isinstance(count, bool):
        raise _WrongError((*path, 'count'), f'count is {wording.shown(count)}: give a number.')
    claim = _claim(config['opaque'].get('parameters'), count,
                   ('config', at_config, 'opaque', 'parameters'),
                   exactly['deviceClassName'] == EVERY_CLASS)
    if exactly.get('allocationMode') not in (None, 'ExactCount'):
        raise _WrongError((*path, 'allocationMode'), (
            'The request asks for all pCPUs of a node: give a count of vCPUs.'))
    if exactly.get('adminAccess'):
        raise _WrongError((*path, 'adminAccess'), (
            'The request asks for admin access, which takes no bandwidth: a reservation needs '
            'some.'))
    _check_count(claim, path, _distinct(devices, request.get('name')))
    _check_bandwidth(exactly, claim.reserved, path)
    return claim


def _check_form(devices: Any) -> None:
    """Refuse all but one request for our devices and one configuration for it."""
    requests, configs = _requests(devices), _configs(devices)
    for index, alternative in _alternatives(devices):
        raise _WrongError(('requests', index), (
            f'The request {alternative.get("name")} asks for pCPUs in firstAvailable: ask for '
            'them in exactly.'))
    if len(requests) > 1:
        names = ' and '.join(str(request.get('name')) for _, request in requests[:2])
        raise _WrongError(('requests',), (
            f'The claim asks for pCPUs in the requests {names}: a claim has one reservation, so '
            'use two claims.'))
    if not requests:
        raise _WrongError(('requests',), (
            f'A claim has one reservation: give one request of the class {CLASS}, not 0.'))
    if not configs:
        raise _WrongError(('config',), (
            f'The claim has no parameters: give {" and ".join(reservation.HINTS)} in an opaque '
            f'configuration for the driver {DRIVER}.'))
    if len(configs) > 1:
        raise _WrongError(('config',), (
            f'The claim has {len(configs)} configurations for the driver {DRIVER}: give one.'))
    (_, request), (at_config, config) = requests[0], configs[0]
    if not _concerns(config, request.get('name')):
        raise _WrongError(('config', at_config), (
            f'The configuration for the driver {DRIVER} is not for the request '
            f'{request.get("name")}: name it in the configuration\'s requests.'))


def _claim(parameters: Any, count: int, path: problems.Path, every: bool) -> Claim:
    """Return the claim of opaque parameters."""
    if not isinstance(parameters, dict) or any(
            parameters.get(key) != value for key, value in _TYPE.items()):
        raise _WrongError(path, (
            'The parameters of the claim are not of this driver: give apiVersion '
            f'{_TYPE["apiVersion"]} and kind {_TYPE["kind"]}.'))
    for name in parameters:
        if name not in _KNOWN:
            raise _WrongError((*path, name), (
                f'There is no parameter {wording.shown(name)}: give '
                f'{" and ".join(reservation.HINTS)}, and if wanted {" and ".join(_INIT)}.'))
    for name in reservation.HINTS:
        if name not in parameters:
            raise _WrongError(path, (
                f'{name} is missing in the parameters of the claim: set both '
                f'{" and ".join(reservation.HINTS)}.'))
    for name in (*reservation.HINTS, reservation.PRIORITY):
        # Only hints of servers are lists of one value.
        if isinstance(parameters.get(name), list):
            raise _WrongError((*path, name), (
                f'{name} has {len(parameters[name])} values: give one.'))
    if not isinstance(parameters.get(reservation.POLICY, ''), str):
        raise _WrongError((*path, reservation.POLICY), (
            f'{reservation.POLICY} is no text: give one of {", ".join(reservation.POLICIES)}.'))
    try:
        runtime_us, period_us = (reservation.parse_number(name, parameters[name])
                                 for name in reservation.HINTS)
        return Claim(reservation.Reservation(runtime_us, period_us, count),
                     _init(parameters), every)
    except reservation.InvalidReservationError as exc:
        raise _WrongError(path, str(exc)) from exc


def _init(parameters: Mapping[str, Any]) -> reservation.InitPolicy | None:
    prefix = reservation.EXTRA_SPEC_PREFIX
    try:
        return reservation.init_policy({
            prefix + name: parameters[name] for name in _INIT if name in parameters})
    except reservation.InvalidReservationError as exc:
        # Here they have the names of hints, as runtime and period do.
        raise reservation.InvalidReservationError(str(exc).replace(prefix, '')) from exc


def check_count(count: int) -> None:
    """Refuse more vCPUs than a claim has devices.

    :raises nova_rt.reservation.InvalidReservationError: if there are more
    """
    if count > MOST_VCPUS:
        raise reservation.InvalidReservationError(
            f'The request has {count} vCPUs, but a claim has at most {MOST_VCPUS} devices: '
            'use several containers, with a claim each.')


def _check_count(claim: Claim, path: problems.Path, distinct: bool) -> None:
    """Refuse a number of devices that cannot be had."""
    count = claim.reserved.vcpus
    try:
        check_count(count)
    except reservation.InvalidReservationError as exc:
        raise _WrongError((*path, 'count'), str(exc)) from exc
    if count > 1 and claim.every:
        raise _WrongError((*path, 'count'), (
            f'The request has {count} devices, but the device of {EVERY_CLASS} is all pCPUs of a '
            'node: give count 1.'))
    if count > 1 and not distinct:
        raise _WrongError((*path, 'count'), (
            f'The request has {count} vCPUs, and each needs a pCPU of its own: add the '
            f'constraint distinctAttribute: {_ATTRIBUTE}.'))


def _check_bandwidth(exactly: Mapping[str, Any], wanted: reservation.Reservation,
                     path: problems.Path) -> None:
    given = locations.at(exactly, ('capacity', 'requests', 'bandwidth'))
    if str(given) != str(wanted.bandwidth):
        raise _WrongError((*path, 'capacity', 'requests', 'bandwidth'), (
            f'The request asks for a bandwidth of {"0" if given is None else given}, but '
            f'{wanted.runtime_us} µs every {wanted.period_us} µs is {wanted.bandwidth}: give '
            'capacity.requests.bandwidth as (runtime << 20) / period, rounded down.'))


def _distinct(devices: Any, request: Any) -> bool:
    """Return whether no device may be taken twice for a request."""
    return any(locations.at(constraint, ('distinctAttribute',)) == _ATTRIBUTE
               and _concerns(constraint, request)
               for _, constraint in _items(devices, 'constraints'))


def _concerns(content: Mapping[str, Any], request: Any) -> bool:
    """Return whether a constraint or configuration is for a request: by name, or for all."""
    names = content.get('requests') or []
    return not names or (isinstance(names, list) and request in names)


def _items(devices: Any, key: str) -> Iterator[tuple[int, Any]]:
    """Yield the maps of a list, with their indexes."""
    items = locations.at(devices, (key,))
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            yield index, item
