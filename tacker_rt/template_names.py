# SPDX-License-Identifier: Apache-2.0
"""Names of nested templates, so that a rolling change never costs a reservation.

In a rolling change of a package, Tacker 16 takes the scheduler hints out of all
nested templates that are named ``*.yaml``, and puts them back at the end
(``_change_vnfpkg_rolling_update_user_data_standard`` in
``tacker.sol_refactored.infra_drivers.openstack.openstack``). Heat replaces a
server whose hints change, so in between servers would run without their
reservation. To Heat, ``*.template`` is the name of a template too.

The reservation is a part of the name. Servers that Tacker has not come to yet
keep their old template, and are replaced when it is their turn.
"""

from collections.abc import Collection
from collections.abc import Mapping
from typing import Any

from tacker_rt import hot
from tacker_rt import locations
from tacker_rt import template_hints

OURS, THEIRS = '.template', '.yaml'


def new_names(files: Mapping[str, Any], wanted: Mapping[str, template_hints.Hints],
              others: Collection[str]) -> dict[str, str]:
    """Return the new names of the nested templates that have reservations.

    :param files: parsed nested templates by name
    :param wanted: the reservations by VDU
    :param others: the names of all nodes
    """
    names = {}
    for name, template in files.items():
        if not name.endswith(THEIRS) or not isinstance(template, dict):
            continue
        values = [value for vdu in sorted({vdu for vdu, _ in hot.servers(
            template, wanted, others)}) for _, value in sorted(wanted[vdu].items())]
        if values or _has_hints(template):
            names[name] = '-'.join(
                [name.removesuffix(THEIRS), *map(str, values)]) + OURS
    return names


def _has_hints(template: Mapping[str, Any]) -> bool:
    """Return whether a template itself gives a server hints of ours."""
    hints = [locations.at(resource, ('properties', hot.HINTS))
             for resource in (template.get('resources') or {}).values()]
    return any(isinstance(names, dict) and any(
        locations.is_ours(str(name)) for name in names) for names in hints)


def rename_types(value: Any, names: Mapping[str, str]) -> Any:
    """Return a part of a template that refers to nested ones by their new names."""
    if isinstance(value, list):
        return [rename_types(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: names.get(item, item) if key == 'type' and isinstance(item, str)
            else rename_types(item, names) for key, item in value.items()}
