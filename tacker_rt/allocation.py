# SPDX-License-Identifier: Apache-2.0
"""What ``nfv_compute`` gives besides a reservation, in Nova's terms.

Sizes become a flavor; affinity and topology its extra specs (OpenStack paper,
section 5.1; ``hw:`` extra specs of Nova's libvirt driver).
"""

from collections.abc import Mapping
import difflib
from typing import Any

from nova_rt import reservation
from nova_rt import spelling
from nova_rt import wording
from tacker_rt import locations
from tacker_rt import problems
from tacker_rt import request
from tacker_rt import values

AFFINITY = 'cpu_affinity'
THREADS = 'thread_allocation'
DEDICATED = 'dedicated'
_CHOICES = {AFFINITY: ('shared', DEDICATED),
            THREADS: ('prefer', 'isolate', 'require')}
_COUNTS = ('socket_count', 'core_count', 'thread_count')
EXTRA_SPECS = {AFFINITY: 'hw:cpu_policy', THREADS: 'hw:cpu_thread_policy',
               'socket_count': 'hw:cpu_sockets', 'core_count': 'hw:cpu_cores',
               'thread_count': 'hw:cpu_threads'}
_KEYS = (*spelling.HINTS, *EXTRA_SPECS)


def extra_specs(vdu: Mapping[str, Any], wrong: list[problems.Problem],
                ) -> dict[str, str | values.Input]:
    """Return affinity and topology as extra specs of a flavor.

    :param wrong: problems are appended here
    """
    content = locations.at(vdu, locations.ALLOCATION)
    specs: dict[str, str | values.Input] = {}
    if not isinstance(content, dict):
        return specs
    for key, value in content.items():
        try:
            if key in EXTRA_SPECS:
                specs[EXTRA_SPECS[key]] = _value(key, value)
            elif not isinstance(key, str) or not locations.is_ours(key):
                _refuse(key)
        except reservation.InvalidReservationError as exc:
            wrong.append(problems.Problem(
                (*locations.ALLOCATION, key), str(exc)))
    return specs


def _value(key: str, value: Any) -> str | values.Input:
    if key in _COUNTS:
        count = values.number(key, value)
        if isinstance(count, values.Input):
            return count
        if count < 1:
            raise reservation.InvalidReservationError(
                f'{key} is {count}: give at least 1.')
        return str(count)
    source = values.input_of(value)
    if source:
        return source
    if value not in _CHOICES[key]:
        raise reservation.InvalidReservationError(
            f'{key} is {wording.shown(value)}: give one of '
            f'{", ".join(_CHOICES[key])}.')
    return str(value)


def _refuse(key: Any) -> None:
    if not isinstance(key, str):
        raise reservation.InvalidReservationError(
            f'{wording.shown(key)} is not a name: give one of '
            f'{", ".join(_KEYS)}.')
    close = difflib.get_close_matches(key[:64], _KEYS, n=1)
    raise reservation.InvalidReservationError(
        f'There is no {wording.shown(key)} in cpu_allocation: '
        + (f'did you mean {close[0]}?' if close
           else f'give one of {", ".join(_KEYS)}.'))


def size(vdu: Mapping[str, Any],
         wrong: list[problems.Problem]) -> request.Size | None:
    """Return the size of the VDU's own flavor, None if it needs none.

    A VDU that names a flavor has the size of that flavor; one without
    cpu_allocation is left to the stock translation.

    :param wrong: problems are appended here
    """
    if locations.at(vdu, locations.ALLOCATION) is None or (
            locations.at(vdu, ('properties', 'flavor'))):
        return None
    compute = locations.at(vdu, locations.NFV_COMPUTE)
    sizes: dict[str, Any] = {}
    for key, name in (('num_cpus', 'vcpus'), ('mem_size', 'ram_mb'),
                      ('disk_size', 'disk_gb')):
        if compute.get(key) is None:
            continue
        try:
            sizes[name] = _amount(key, compute[key])
        except reservation.InvalidReservationError as exc:
            wrong.append(problems.Problem(
                (*locations.NFV_COMPUTE, key), str(exc)))
    return request.Size(**sizes)


def _amount(key: str, value: Any) -> values.Number:
    if key == 'num_cpus':
        vcpus = values.number(key, value)
        if isinstance(vcpus, int) and vcpus < 1:
            raise reservation.InvalidReservationError(
                f'num_cpus is {vcpus}: give at least 1.')
        return vcpus
    if values.input_of(value):
        raise reservation.InvalidReservationError(
            f'{key} cannot be an input without a default, as the flavor '
            'needs a number: give a size such as 4096 MB.')
    unit = values.MEMORY_UNIT if key == 'mem_size' else values.DISK_UNIT
    return values.size(key, value, unit)


def check_together(vdu: Mapping[str, Any],
             wanted: request.VduRequest) -> list[problems.Problem]:
    """Return the problems of affinity and topology combined with the rest."""
    specs = wanted.extra_specs
    if not specs:
        return []
    dedicated = specs.get(EXTRA_SPECS[AFFINITY]) == DEDICATED
    if wanted.flavor:
        return [_wrong(_first(specs), (
            f'The flavor {wording.shown(wanted.flavor)} already sets this: '
            'remove this, or the flavor.'))]
    if wanted.hints and dedicated:
        return [_wrong(AFFINITY, (
            'A dedicated pCPU leaves no room for a reservation: remove '
            f'this, or {" and ".join(wanted.hints)}.'))]
    if EXTRA_SPECS[THREADS] in specs and not dedicated and not isinstance(
            specs.get(EXTRA_SPECS[AFFINITY]), values.Input):
        return [_wrong(THREADS, (
            f'Nova allocates threads of dedicated pCPUs only: remove this, or '
            f'give {AFFINITY}: {DEDICATED}.'))]
    return _topology(wanted)


def _topology(wanted: request.VduRequest) -> list[problems.Problem]:
    counts = [wanted.extra_specs.get(EXTRA_SPECS[key]) for key in _COUNTS]
    vcpus = wanted.size.vcpus if wanted.size else None
    if not isinstance(vcpus, int):
        return []
    product = 1
    for count in counts:
        if not isinstance(count, str):
            return []
        product *= int(count)
    if product == vcpus:
        return []
    return [_wrong(_COUNTS[0], (
        f'{" x ".join(str(count) for count in counts)} makes {product} vCPUs, '
        f'but num_cpus is {vcpus}: make them equal.'))]


def _first(specs: Mapping[str, Any]) -> str:
    return next(key for key in EXTRA_SPECS if EXTRA_SPECS[key] in specs)


def _wrong(key: str, sentence: str) -> problems.Problem:
    return problems.Problem((*locations.ALLOCATION, key), sentence)
