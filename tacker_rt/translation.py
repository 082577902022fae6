# SPDX-License-Identifier: Apache-2.0
"""VDUs in heat-translator: the stock translation, with reservations.

heat-translator looks up a class by the name of a node type, in a map that it
fills on import. Each class here replaces its own base in that map; a VDU that
asks for nothing is translated as by the base.
"""

import contextvars
from typing import Any

from toscaparser import functions
from translator.hot import translate_node_templates
from translator.hot.syntax import hot_resource
from translator.hot.tosca import tosca_compute
from translator.hot.tosca import tosca_policies_scaling
from translator.hot.tosca.etsi_nfv import tosca_nfv_vdu_compute
from translator.hot.tosca.etsi_nfv import tosca_policies_nfv_scalingaspects
import yaml

from tacker_rt import hot
from tacker_rt import nested_templates
from tacker_rt import reader
from tacker_rt import request

form: contextvars.ContextVar[hot.Form] = contextvars.ContextVar(
    'form', default=hot.Form.HINTS)
"""How reservations are written."""


class Text(str):
    """Text that looks like a number and must stay text.

    heat-translator removes single quotes from its output.
    """

    __slots__ = ()


yaml.add_representer(Text, lambda dumper, text: dumper.represent_scalar(
    'tag:yaml.org,2002:str', text, style='"'))


class Reserving(hot_resource.HotResource):
    """Shared by both kinds of VDU; precedes the stock class among the bases."""

    _wanted: request.VduRequest | None = None

    def wanted(self) -> request.VduRequest:
        """Return what the VDU asks for; it is read once.

        :raises tacker_rt.problems.InvalidDescriptorError: if it is invalid
        """
        if self._wanted is None:
            node = self.nodetemplate
            self._wanted = reader.read_valid(
                content_of(node),
                ('topology_template', 'node_templates', node.name))
        return self._wanted

    def has_flavor(self) -> bool:
        """Return whether a flavor is made for the VDU."""
        raise NotImplementedError

    def handle_properties(self) -> None:
        """Translate, and add our hints to any that a policy has set."""
        before = self.properties.get(hot.HINTS)
        super().handle_properties()
        hints = {**(before or {}), **(self.properties.get(hot.HINTS) or {})}
        if form.get() is hot.Form.HINTS or not self.has_flavor():
            hints |= hot.hints(self.wanted())
        if hints:
            self.properties[hot.HINTS] = hints


class Compute(Reserving, tosca_compute.ToscaCompute):
    """A VDU of the simple NFV profile, or any other compute node."""

    def handle_properties(self) -> None:
        """Translate, and use the VDU's own flavor if no other is named."""
        super().handle_properties()
        if self.has_flavor() and self.properties.get('flavor') is None:
            self.properties['flavor'] = {'get_resource': self._flavor_name}

    def handle_life_cycle(self) -> Any:
        """Add the VDU's own flavor, early enough to be scaled with the VDU."""
        resources, lookup, last = super().handle_life_cycle()
        properties = self._own_flavor()
        if properties:
            resources = [*resources, hot_resource.HotResource(
                self.nodetemplate, name=self._flavor_name, type=hot.FLAVOR,
                properties=_quoted(properties))]
        return resources, lookup, last

    def has_flavor(self) -> bool:
        """Return whether the VDU names no flavor but gives its size."""
        return self._own_flavor() is not None

    @property
    def _flavor_name(self) -> str:
        name: str = self.nodetemplate.name
        return f'{name}_flavor'

    def _own_flavor(self) -> dict[str, Any] | None:
        return hot.flavor(self.wanted(), form.get())


class VduCompute(Reserving, tosca_nfv_vdu_compute.ToscaNfvVduCompute):
    """A VDU of SOL001, which always has a flavor of its own."""

    def has_flavor(self) -> bool:
        """Return True: the stock translation makes one."""
        return True

    def handle_expansion(self) -> Any:
        """Make the flavor, with the reservation in it if the form is FLAVOR."""
        resources = super().handle_expansion()
        wanted = self.wanted()
        if form.get() is hot.Form.FLAVOR and wanted.hints:
            for resource in resources:
                if resource.type == hot.FLAVOR:
                    _reserve(resource.properties, wanted)
        return resources


class Scaling(tosca_policies_scaling.ToscaAutoscaling):
    """Scaling that passes inputs of reservations on to nested templates."""

    def handle_properties(self, resources: Any) -> Any:
        """Move resources into a template of their own."""
        inputs = _inputs(resources)
        resources = super().handle_properties(resources)
        nested_templates.pass_inputs(resources, self.nested_template, inputs)
        return resources


class ScalingAspects(
        tosca_policies_nfv_scalingaspects.ToscaNfvScalingAspects):
    """The same for SOL001."""

    def handle_properties(self, resources: Any) -> Any:
        """Move resources into templates of their own."""
        inputs = _inputs(resources)
        resources = super().handle_properties(resources)
        for templates in self.multi_nested_templates.values():
            nested_templates.pass_inputs(resources, templates, inputs)
        return resources


OURS = (Compute, VduCompute, Scaling, ScalingAspects)
"""Each replaces the last of its bases."""


def install() -> None:
    """Replace the stock classes by ours."""
    types = translate_node_templates.TOSCA_TO_HOT_TYPE
    for ours in OURS:
        base = ours.__bases__[-1]
        for name, theirs in types.items():
            if theirs is base:
                types[name] = ours


def content_of(node: Any) -> dict[str, Any]:
    """Return the content of a tosca-parser node template.

    Its own text is enough, and faster, unless a type may have a reservation
    as a default.

    :param node: a toscaparser.nodetemplate.NodeTemplate
    """
    template: dict[str, Any] = node.entity_tpl
    if not _in_types(node.custom_def):
        return template
    return {
        **template, 'properties': _plain(node.get_properties_objects()),
        'capabilities': {
            capability.name: {
                'properties': _plain(capability.get_properties_objects())}
            for capability in node.get_capabilities_objects()}}


_last: tuple[Any, bool] = (None, False)


def _in_types(custom: Any) -> bool:
    """Return whether a default in a template's types may be a reservation.

    :param custom: the types, one object for all nodes of a template; the
        result for the last object is cached
    """
    global _last
    types, result = _last
    if types is not custom:
        result = _names_ours(custom)
        _last = (custom, result)
    return result


def _names_ours(types: Any) -> bool:
    left = [types]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if 'default' in part and _mentions(part['default']):
                return True
            left.extend(value for value in part.values()
                        if isinstance(value, (dict, list)))
        elif isinstance(part, list):
            left.extend(part)
    return False


def _mentions(default: Any) -> bool:
    return isinstance(default, (dict, list, str)) and any(
        name in str(default) for name in ('rt_', 'runtime', 'period'))


def _plain(properties: Any) -> dict[str, Any]:
    return {item.name: _value(item.value) for item in properties}


def _value(value: Any) -> Any:
    if isinstance(value, functions.GetInput):
        return {'get_input': value.input_name}
    if isinstance(value, functions.Function):
        return {type(value).__name__: value.args}
    return value


def _inputs(resources: Any) -> set[str]:
    """Return the inputs that servers' reservations use."""
    return {name for resource in resources if isinstance(resource, Reserving)
            for name in hot.inputs(resource.wanted())}


def _quoted(properties: dict[str, Any]) -> dict[str, Any]:
    specs = properties.get('extra_specs', {})
    quoted = {key: Text(value) if isinstance(value, str) else value
              for key, value in specs.items()}
    return {**properties, 'extra_specs': quoted} if specs else properties


def _reserve(properties: dict[str, Any], wanted: request.VduRequest) -> None:
    """Add the reservation to the extra specs of the stock flavor."""
    specs = properties.get('extra_specs') or {}
    if isinstance(specs, str):
        specs = yaml.safe_load(specs)
    properties['extra_specs'] = _quoted(
        {'extra_specs': {**specs, **hot.extra_specs(wanted)}})['extra_specs']
