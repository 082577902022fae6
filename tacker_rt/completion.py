# SPDX-License-Identifier: Apache-2.0
"""Completion of what heat-translator leaves open, so that Heat can run it.

A descriptor need not name images, and may have no network. heat-translator
then writes a comment in place of the image and nothing for the network, which
Nova takes as a request for one.
"""

from collections.abc import Mapping
from typing import Any

from tacker_rt import hot
from tacker_rt import nested_templates

_SOFTWARE = ('OS::Heat::SoftwareDeployment',
             'OS::Heat::SoftwareDeploymentGroup')


def complete(main: str, templates: dict[str, dict[str, Any]],
             nodes: Mapping[str, Any]) -> None:
    """Complete the servers and groups of templates.

    :param main: name of the template that is not nested
    :param templates: Heat templates by name; changed in place
    :param nodes: the node templates of the descriptor
    """
    configured = any(
        resource['type'] in _SOFTWARE for template in templates.values()
        for resource in (template.get('resources') or {}).values())
    for name, template in templates.items():
        for vdu, server in hot.servers(template, nodes):
            properties = server['properties']
            properties.setdefault('networks', [{'allocate_network': 'none'}])
            if not configured:
                properties['user_data_format'] = _format(nodes[vdu])
            if not properties.get('image'):
                _add_image_parameter(vdu, nodes[vdu], properties, template)
                if name != main:
                    _pass_image_on(vdu, name, nodes[vdu], templates[main])
        _complete_groups(template)
    for template in templates.values():
        _keep_parameters(template)


def _keep_parameters(template: dict[str, Any]) -> None:
    """Drop unused parameters: Heat would demand values for them."""
    used = nested_templates.parameters([template.get('resources') or {},
                              template.get('outputs') or {}])
    kept = {name: declared for name, declared
            in (template.get('parameters') or {}).items() if name in used}
    for declared in kept.values():
        if declared.get('type') == 'list':
            declared['type'] = 'comma_delimited_list'
    template.pop('parameters', None)
    if kept:
        template['parameters'] = kept


def _format(node: Mapping[str, Any]) -> str:
    """Return the user data format; nothing here needs Heat's own."""
    given = (node.get('properties') or {}).get('user_data_format')
    return given if isinstance(given, str) else 'RAW'


def _parameter_name(vdu: str) -> str:
    return f'{vdu}_image'


def _image_parameter(vdu: str, node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameter for a VDU's image; the default is the image it names."""
    data = (node.get('properties') or {}).get('sw_image_data')
    name = data.get('name') if isinstance(data, Mapping) else None
    declared = {'type': 'string', 'description': f'The image of {vdu}'}
    return {**declared, 'default': name} if isinstance(name, str) else declared


def _add_image_parameter(vdu: str, node: Mapping[str, Any],
                   properties: dict[str, Any],
                   template: dict[str, Any]) -> None:
    parameters = template.get('parameters') or {}
    parameters[_parameter_name(vdu)] = _image_parameter(vdu, node)
    template['parameters'] = parameters
    properties['image'] = {'get_param': _parameter_name(vdu)}


def _pass_image_on(vdu: str, nested_name: str, node: Mapping[str, Any],
             main: dict[str, Any]) -> None:
    """Make the image of a nested server a parameter of the stack."""
    for resource in main['resources'].values():
        scaled = (resource.get('properties') or {}).get('resource') or {}
        if resource['type'] == nested_templates.GROUP and (
                scaled.get('type') == nested_name):
            scaled.setdefault('properties', {})[_parameter_name(vdu)] = {
                'get_param': _parameter_name(vdu)}
            main['parameters'] = {**(main.get('parameters') or {}),
                                  _parameter_name(vdu): _image_parameter(vdu, node)}


def _complete_groups(template: Mapping[str, Any]) -> None:
    """Start groups whose size Tacker would fill in at their minimum."""
    for resource in (template.get('resources') or {}).values():
        properties = resource.get('properties') or {}
        if (resource['type'] == nested_templates.GROUP
                and properties.get('desired_capacity') == 'DESIRED_CAPACITY'):
            properties['desired_capacity'] = properties.get('min_size', 1)
