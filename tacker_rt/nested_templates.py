# SPDX-License-Identifier: Apache-2.0
"""Parameters of the nested templates that heat-translator makes for scaling.

It moves scaled resources into a nested template without passing the stack's
parameters on: there, an input would have its default or be unknown.
"""

from collections.abc import Collection
from collections.abc import Iterable
from typing import Any

import yaml

GROUP = 'OS::Heat::AutoScalingGroup'


def pass_inputs(resources: Iterable[Any], templates: dict[str, str],
                inputs: Collection[str]) -> None:
    """Pass inputs on to the nested templates that use them.

    :param resources: heat-translator's, including the groups; changed in place
    :param templates: the nested templates by name; changed in place
    :param inputs: names of the inputs that give reservations their values
    """
    if not inputs:
        return
    for name, text in templates.items():
        template = yaml.safe_load(text)
        used = sorted(parameters(template['resources']) & set(inputs))
        if not used:
            continue
        declared = template.setdefault('parameters', {})
        for parameter in used:
            declared.setdefault(parameter, {'type': 'number'})
        templates[name] = yaml.dump(template, sort_keys=False)
        for resource in resources:
            scaled = resource.properties.get('resource')
            if resource.type == GROUP and scaled['type'] == name:
                scaled.setdefault('properties', {}).update(
                    {parameter: {'get_param': parameter} for parameter in used})


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
