# SPDX-License-Identifier: Apache-2.0
"""Parameters of templates that heat-translator makes for groups that scale.

It moves what is scaled into a template of its own, and hands no parameter of
the stack on to that: there, an input would be its default or unknown.
"""

from collections.abc import Collection
from collections.abc import Iterable
from typing import Any

import yaml

GROUP = 'OS::Heat::AutoScalingGroup'


def pass_inputs(resources: Iterable[Any], templates: dict[str, str],
                inputs: Collection[str]) -> None:
    """Hand inputs on to the nested templates that use them.

    :param resources: heat-translator's, among them the groups; changed
    :param templates: the nested templates by name; changed
    :param inputs: names of the inputs that reservations come from
    """
    if not inputs:
        return
    for name, text in templates.items():
        template = yaml.safe_load(text)
        used = sorted(parameters(template['resources']) & set(inputs))
        if not used:
            continue
        declared = template.setdefault('parameters', {})
        for each in used:
            declared.setdefault(each, {'type': 'number'})
        templates[name] = yaml.dump(template, sort_keys=False)
        for resource in resources:
            scaled = resource.properties.get('resource')
            if resource.type == GROUP and scaled['type'] == name:
                scaled.setdefault('properties', {}).update(
                    {each: {'get_param': each} for each in used})


def parameters(value: Any) -> set[str]:
    """Return the parameters that a part of a template uses."""
    if isinstance(value, list):
        return set().union(*map(parameters, value))
    if not isinstance(value, dict):
        return set()
    name = value.get('get_param')
    if isinstance(name, list) and name:
        name = name[0]
    if isinstance(name, str):
        return {name}
    return set().union(*map(parameters, value.values()))
