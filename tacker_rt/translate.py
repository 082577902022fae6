# SPDX-License-Identifier: Apache-2.0
"""A whole descriptor into Heat templates, by heat-translator."""

from collections.abc import Mapping
import contextlib
import copy
import io
import logging
import os
from pathlib import Path
from typing import Any

import yaml

from nova_rt import errors
from tacker_rt import completion
from tacker_rt import document
from tacker_rt import hot
from tacker_rt import problems
from tacker_rt import profile
from tacker_rt import request
from tacker_rt import validation

VERSION = 'tosca_definitions_version'
_VDU = 'tosca.nodes.nfv.VDU.Tacker'
Templates = dict[str, dict[str, Any]]


class UntranslatableError(errors.NovaRTError):
    """A descriptor that heat-translator does not take; each reason a line."""


def translate(source: document.Document, name: str, form: hot.Form,
              given: Mapping[str, Any]) -> Templates:
    """Return the Heat templates of a descriptor, by file name.

    :param name: of the main template; heat-translator names the others
    :param given: values of inputs
    :raises tacker_rt.problems.InvalidDescriptorError: if its reservations are wrong
    :raises UntranslatableError: if something else is
    """
    wanted, wrong = validation.validate(source.content)
    if wrong:
        raise problems.InvalidDescriptorError(wrong)
    nodes = (source.content.get(validation.TOPOLOGY) or {}).get(
        validation.TEMPLATES) or {}
    templates = _by_heat_translator(source, name, form, given)
    completion.complete(name, templates, nodes)
    lost = [problems.Problem((validation.TOPOLOGY, validation.TEMPLATES, vdu), (
        'This asks for a reservation, but does not become a server: give it '
        f'a type such as {_VDU}.'))
        for vdu, each in wanted.items() if each.times
        and not _carries(vdu, each, templates, nodes)]
    if lost:
        raise problems.InvalidDescriptorError(lost)
    return templates


def _by_heat_translator(source: document.Document, name: str, form: hot.Form,
                        given: Mapping[str, Any]) -> Templates:
    # Slow to import, and not needed to validate.
    from toscaparser import tosca_template
    from translator.hot import tosca_translator

    from tacker_rt import translation
    translation.install()
    token = translation.form.set(form)
    try:
        with _quiet(), _beside(source.file):
            parsed = tosca_template.ToscaTemplate(
                parsed_params=dict(given), **_input(source))
            texts = tosca_translator.TOSCATranslator(
                parsed, dict(given)).translate_to_yaml_files_dict(name)
        templates = {each: yaml.safe_load(text)
                     for each, text in texts.items()}
    except problems.InvalidDescriptorError:
        raise
    # Neither library says which errors it raises for bad input.
    except Exception as error:
        raise UntranslatableError(_reasons(error, source.content)) from error
    finally:
        translation.form.reset(token)
    if not all(isinstance(each, dict) for each in templates.values()):
        raise UntranslatableError('heat-translator writes no valid template.')
    return templates


def _input(source: document.Document) -> dict[str, Any]:
    """Return what tosca-parser is given: the file, or what it should be.

    It finds imports only beside a file.
    """
    if (source.as_is and VERSION in source.content
            and source.file.endswith(('.yaml', '.yml'))):
        return {'path': str(Path(source.file).absolute())}
    return {'a_file': False, 'yaml_dict_tpl': {
        VERSION: profile.VERSION, **copy.deepcopy(dict(source.content))}}


@contextlib.contextmanager
def _quiet() -> Any:
    """Keep warnings about flavors and images, which we complete, to us."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _beside(file: str) -> Any:
    """Find what a descriptor imports, and its scripts, beside it."""
    before = Path.cwd()
    os.chdir(Path(file).parent)
    try:
        yield
    finally:
        os.chdir(before)


def _reasons(error: Exception, content: Mapping[str, Any]) -> str:
    """Return the reasons that a library gives, one a line.

    tosca-parser's begin with the name of a file, and have the lines of its
    own code between them, indented twice.
    """
    said = [line.strip() for line in str(error).splitlines()
            if line.strip() and not line.startswith('\t\t')
            and 'following error(s)' not in line]
    if len(said) < 2 and not hasattr(error, 'msg_fmt'):
        said = [f'heat-translator cannot translate this '
                f'({": ".join([type(error).__name__, *said])}).']
    if _VDU in str(error) and VERSION in content:
        said.append(f'To know {_VDU}, import nova_rt_nfv_types.yaml (see '
                    f'tacker-rt types), or give {VERSION}: '
                    f'{profile.VERSION}.')
    return '\n'.join(said)


def _carries(vdu: str, wanted: request.VduRequest, templates: Templates,
             nodes: Mapping[str, Any]) -> bool:
    """Return whether a VDU became servers, all with its reservation."""
    hints, specs = hot.hints(wanted), hot.extra_specs(wanted)
    found = False
    for template in templates.values():
        for name, server in hot.servers(template, (vdu,), nodes):
            given = server['properties'].get(hot.HINTS) or {}
            found = True
            if hints.items() <= given.items() and hints:
                continue
            if not _in_flavor(name, specs, templates):
                return False
    return found


def _in_flavor(vdu: str, specs: Mapping[str, Any],
               templates: Templates) -> bool:
    for template in templates.values():
        flavor = (template.get('resources') or {}).get(f'{vdu}_flavor')
        if flavor and _same(specs, flavor['properties'].get('extra_specs')):
            return True
    return False


def _same(specs: Mapping[str, Any], given: Any) -> bool:
    return isinstance(given, Mapping) and all(
        str(given.get(key)) == str(value) for key, value in specs.items())
