# SPDX-License-Identifier: Apache-2.0
"""A VDU's request as properties of Heat's resources.

As scheduler hints of ``OS::Nova::Server``, or as extra specs of an
``OS::Nova::Flavor`` (OpenStack paper, section 5, options 2 and 1).
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import enum
from typing import Any

from nova_rt import reservation
from tacker_rt import request
from tacker_rt import values

SERVER = 'OS::Nova::Server'
FLAVOR = 'OS::Nova::Flavor'
HINTS = 'scheduler_hints'


class Form(enum.StrEnum):
    """How a reservation is written."""

    HINTS = 'hints'
    FLAVOR = 'flavor'


def hints(wanted: request.VduRequest) -> dict[str, Any]:
    """Return the scheduler hints of the VDU's server."""
    if wanted.in_flavor:
        return {}
    return {name: _parameter(value) for name, value in wanted.hints.items()}


def flavor(wanted: request.VduRequest, form: Form) -> dict[str, Any] | None:
    """Return the properties of the VDU's own flavor, None if it needs none.

    Extra specs are text: Nova accepts nothing else.
    """
    if wanted.flavor or not wanted.size:
        return None
    specs: dict[str, Any] = {
        name: _text(value) for name, value in wanted.extra_specs.items()}
    if form is Form.FLAVOR:
        specs |= extra_specs(wanted)
    properties = {'vcpus': _parameter(wanted.size.vcpus),
                  'ram': wanted.size.ram_mb, 'disk': wanted.size.disk_gb}
    return {**properties, 'extra_specs': specs} if specs else properties


def extra_specs(wanted: request.VduRequest) -> dict[str, Any]:
    """Return the reservation as extra specs of a flavor."""
    return {reservation.EXTRA_SPEC_PREFIX + name: _text(value)
            for name, value in wanted.hints.items()}


def inputs(wanted: request.VduRequest) -> set[str]:
    """Return the names of the inputs that a VDU's request uses."""
    given = [*wanted.hints.values(), *wanted.extra_specs.values()]
    if wanted.size:
        given.append(wanted.size.vcpus)
    return {value.name for value in given if isinstance(value, values.Input)}


def _parameter(value: values.Value) -> Any:
    return ({'get_param': value.name} if isinstance(value, values.Input)
            else value)


def _text(value: values.Value) -> Any:
    if isinstance(value, values.Input):
        return {'str_replace': {'template': '$value', 'params': {
            '$value': _parameter(value)}}}
    return str(value)


def servers(template: Mapping[str, Any], names: Collection[str],
            others: Collection[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the servers of a template that belong to one of these VDUs.

    Tacker names the servers of VDU1 ``VDU1``, or ``VDU1-0`` and so on.

    :param others: all nodes of the descriptor, which may themselves have such names
    :returns: pairs of the VDU's name and the server
    """
    resources = template.get('resources')
    for name, resource in (resources or {}).items():
        if not isinstance(resource, dict) or resource.get('type') != SERVER:
            continue
        base, _, index = name.rpartition('-')
        if name in names:
            yield name, resource
        elif index.isdigit() and base in names and name not in others:
            yield base, resource
