# SPDX-License-Identifier: Apache-2.0
"""Where in a VDU a reservation may be given, and names found elsewhere.

- ``cpu_allocation`` of ``nfv_compute`` (OpenStack paper, section 5.1);
- ``vdu_cpu_requirements`` of ``virtual_cpu``, and
  ``target_performance_parameters`` of any requested additional capability
  (ETSI GS NFV-SOL 001, VirtualCpu and RequestedAdditionalCapability);
- ``scheduler_hints``, if the descriptor's own node type has this property;
- ``nova_extra_specs`` of ``compute_requirements``, from which
  heat-translator makes a flavor.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import enum
import functools
from typing import Any

import yaml

from nova_rt import reservation
from nova_rt import spelling
from tacker_rt import problems

NFV_COMPUTE = ('capabilities', 'nfv_compute', 'properties')
VIRTUAL_COMPUTE = ('capabilities', 'virtual_compute', 'properties')
ALLOCATION = (*NFV_COMPUTE, 'cpu_allocation')
REQUIREMENTS = (*VIRTUAL_COMPUTE, 'virtual_cpu', 'vdu_cpu_requirements')
CAPABILITIES = (*VIRTUAL_COMPUTE, 'requested_additional_capabilities')
PARAMETERS = 'target_performance_parameters'
HINTS = ('properties', 'scheduler_hints')
EXTRA_SPECS = (*VIRTUAL_COMPUTE, 'compute_requirements', 'nova_extra_specs')
_STRAY = (
    'Nothing reads a reservation here: write it under nfv_compute as '
    'cpu_allocation, or under virtual_cpu as vdu_cpu_requirements.')


class Kind(enum.Enum):
    """How the keys at a location are read."""

    ALLOCATION = 'allocation'
    HINTS = 'hints'
    EXTRA_SPECS = 'extra specs'


@dataclasses.dataclass(frozen=True, slots=True)
class Location:
    """A place for a reservation; its content is not a map if miswritten."""

    path: problems.Path
    kind: Kind
    content: Any


def locations(vdu: Mapping[str, Any]) -> Iterator[Location]:
    """Yield the locations that a node template has."""
    yield from _location(vdu, ALLOCATION, Kind.ALLOCATION)
    yield from _location(vdu, REQUIREMENTS, Kind.HINTS)
    capabilities = at(vdu, CAPABILITIES)
    if isinstance(capabilities, dict):
        for key in capabilities:
            yield from _location(
                vdu, (*CAPABILITIES, key, PARAMETERS), Kind.HINTS)
    yield from _location(vdu, HINTS, Kind.HINTS)
    content = at(vdu, EXTRA_SPECS)
    if content is not None:
        yield Location(EXTRA_SPECS, Kind.EXTRA_SPECS, _loaded(content))


def at(document: Any, path: problems.Path) -> Any:
    """Return the value at a path, None if there is none."""
    for key in path:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def strays(vdu: Any, known: Mapping[problems.Path, Location],
           ) -> Iterator[problems.Problem]:
    """Yield a problem for each of our names where nothing reads it.

    :param known: the locations, by path
    """
    # An anchor may be used many times, or refer to itself.
    seen: set[int] = set()
    left: list[tuple[Any, problems.Path]] = [(vdu, ())]
    while left:
        value, path = left.pop()
        location = known.get(path)
        if location and (location.kind is Kind.EXTRA_SPECS
                        or isinstance(location.content, dict)):
            continue
        if isinstance(value, str) and location and mentions(value):
            yield problems.Problem(
                path, f'This must be a map with the keys {reservation.RUNTIME} and '
                f'{reservation.PERIOD}.')
        if not isinstance(value, (dict, list)) or id(value) in seen:
            continue
        seen.add(id(value))
        for key, child in (value.items() if isinstance(value, dict)
                           else enumerate(value)):
            if isinstance(key, str) and is_ours(key):
                yield problems.Problem((*path, key), _STRAY)
            if isinstance(child, (dict, list, str)):
                left.append((child, (*path, key)))


# Descriptors repeat few distinct keys, and comparing a key is slow.
@functools.lru_cache(maxsize=4096)
def is_ours(key: str) -> bool:
    """Return whether a key is the name of one of our hints, or close to it."""
    plain = key.removeprefix(reservation.EXTRA_SPEC_PREFIX)
    return plain in spelling.HINTS or spelling.meant(key) in spelling.HINTS


def mentions(text: str) -> bool:
    """Return whether a text names one of our hints."""
    return any(name in text for name in spelling.HINTS)


def _location(vdu: Mapping[str, Any], path: problems.Path, kind: Kind,
             ) -> Iterator[Location]:
    content = at(vdu, path)
    if content is not None:
        yield Location(path, kind, content)


def _loaded(content: Any) -> Any:
    """Return the map that a string holds as JSON or YAML."""
    if not isinstance(content, str):
        return content
    try:
        return yaml.safe_load(content)
    except (yaml.YAMLError, RecursionError, ValueError):
        return content
