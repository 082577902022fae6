# SPDX-License-Identifier: Apache-2.0
"""VDUs in heat-translator: its own translation, with reservations.

heat-translator chooses a class by the name of a node type, from a map that it
fills when it is imported. Each class here is put in place of its own base; a
VDU that asks for nothing is translated as by that.
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
    """Text that looks like a number, and must stay text.

    heat-translator removes single quotes from what it writes.
    """

    __slots__ = ()


yaml.add_representer(Text, lambda dumper, text: dumper.represent_scalar(
    'tag:yaml.org,2002:str', text, style='"'))


class Reserving(hot_resource.HotResource):
    """What both kinds of VDU have in common; comes before a class of theirs."""

    _wanted: request.VduRequest | None = None

    def wanted(self) -> request.VduRequest:
        """Return what the VDU asks for, read once.

        :raises tacker_rt.problems.InvalidDescriptorError: if that cannot be
        """
        if self._wanted is None:
            node = self.nodetemplate
            self._wanted = reader.read_valid(
                described(node),
                ('topology_template', 'node_templates', node.name))
        return self._wanted

    def has_flavor(self) -> bool:
        """Return whether a flavor is made for the VDU."""
        raise NotImplementedError

    def handle_properties(self) -> None:
        """Translate, and add hints to those that a policy may have set."""
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
        """Translate, and use the VDU's own flavor if there is no other."""
        super().handle_properties()
        if self.has_flavor() and self.properties.get('flavor') is None:
            self.properties['flavor'] = {'get_resource': self._flavor_name}

    def handle_life_cycle(self) -> Any:
        """Add the VDU's own flavor while it can still be scaled with it."""
        resources, lookup, last = super().handle_life_cycle()
        properties = self._own_flavor()
        if properties:
            resources = [*resources, hot_resource.HotResource(
                self.nodetemplate, name=self._flavor_name, type=hot.FLAVOR,
                properties=_quoted(properties))]
        return resources, lookup, last

    def has_flavor(self) -> bool:
        """Return whether the VDU names none, and says what it needs."""
        return self._own_flavor() is not None

    @property
    def _flavor_name(self) -> str:
        name: str = self.nodetemplate.name
        return f'{name}_flavor'

    def _own_flavor(self) -> dict[str, Any] | None:
        return hot.flavor(self.wanted(), form.get())


class VduCompute(Reserving, tosca_nfv_vdu_compute.ToscaNfvVduCompute):
    """A VDU of SOL001, which has a flavor of its own already."""

    def has_flavor(self) -> bool:
        """Return True: the stock translation makes one."""
        return True

    def handle_expansion(self) -> Any:
        """Make the flavor, with a reservation if that is the form."""
        resources = super().handle_expansion()
        wanted = self.wanted()
        if form.get() is hot.Form.FLAVOR and wanted.times:
            for resource in resources:
                if resource.type == hot.FLAVOR:
                    _reserve(resource.properties, wanted)
        return resources


class Scaling(tosca_policies_scaling.ToscaAutoscaling):
    """Scaling, with inputs of a reservation passed on to what is scaled."""

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
"""Each extends the last of its bases, in whose place it is put."""


def install() -> None:
    """Put our classes in place of those that they extend."""
    types = translate_node_templates.TOSCA_TO_HOT_TYPE
    for ours in OURS:
        base = ours.__bases__[-1]
        for name, theirs in types.items():
            if theirs is base:
                types[name] = ours


def described(node: Any) -> dict[str, Any]:
    """Return what a node template of tosca-parser says.

    Its own text is enough, and quicker, unless some type has a reservation
    as a default.

    :param node: a toscaparser.nodetemplate.NodeTemplate
    """
    said: dict[str, Any] = node.entity_tpl
    if not _in_types(node.custom_def):
        return said
    return {
        **said, 'properties': _plain(node.get_properties_objects()),
        'capabilities': {
            each.name: {'properties': _plain(each.get_properties_objects())}
            for each in node.get_capabilities_objects()}}


_last: tuple[Any, bool] = (None, False)


def _in_types(custom: Any) -> bool:
    """Return whether a default in a template's types may ask for one.

    :param custom: the types, one object for all nodes of a template; the
        last is remembered
    """
    global _last
    known, found = _last
    if known is not custom:
        found = _names_ours(custom)
        _last = (custom, found)
    return found


def _names_ours(types: Any) -> bool:
    left = [types]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            if 'default' in each and _mentions(each['default']):
                return True
            left.extend(value for value in each.values()
                        if isinstance(value, (dict, list)))
        elif isinstance(each, list):
            left.extend(each)
    return False


def _mentions(default: Any) -> bool:
    return isinstance(default, (dict, list, str)) and any(
        name in str(default) for name in ('rt_', 'runtime', 'period'))


def _plain(properties: Any) -> dict[str, Any]:
    return {each.name: _value(each.value) for each in properties}


def _value(value: Any) -> Any:
    if isinstance(value, functions.GetInput):
        return {'get_input': value.input_name}
    if isinstance(value, functions.Function):
        return {type(value).__name__: value.args}
    return value


def _inputs(resources: Any) -> set[str]:
    """Return the inputs that the reservations of servers come from."""
    return {name for each in resources if isinstance(each, Reserving)
            for name in hot.inputs(each.wanted())}


def _quoted(properties: dict[str, Any]) -> dict[str, Any]:
    specs = properties.get('extra_specs', {})
    quoted = {key: Text(value) if isinstance(value, str) else value
              for key, value in specs.items()}
    return {**properties, 'extra_specs': quoted} if specs else properties


def _reserve(properties: dict[str, Any], wanted: request.VduRequest) -> None:
    """Add extra specs to those of the flavor that stock translation makes."""
    specs = properties.get('extra_specs') or {}
    if isinstance(specs, str):
        specs = yaml.safe_load(specs)
    properties['extra_specs'] = _quoted(
        {'extra_specs': {**specs, **hot.extra_specs(wanted)}})['extra_specs']
