# SPDX-License-Identifier: Apache-2.0
"""Translate a descriptor into Heat templates with heat-translator."""

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
    """A descriptor that heat-translator rejects; one reason a line."""


def translate(source: document.Document, name: str, form: hot.Form,
              given: Mapping[str, Any]) -> Templates:
    """Return the Heat templates of a descriptor, by file name.

    :param name: of the main template; heat-translator names nested ones
    :param given: values of inputs
    :raises tacker_rt.problems.InvalidDescriptorError: if a reservation is
        invalid
    :raises UntranslatableError: if heat-translator rejects the descriptor
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
        for vdu, vdu_request in wanted.items() if vdu_request.hints
        and not _carries(vdu, vdu_request, templates, nodes)]
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
        templates = {file: yaml.safe_load(text)
                     for file, text in texts.items()}
    except problems.InvalidDescriptorError:
        raise
    # Neither library says which errors it raises for bad input.
    except Exception as exc:
        raise UntranslatableError(_reasons(exc, source.content)) from exc
    finally:
        translation.form.reset(token)
    if not all(isinstance(template, dict) for template in templates.values()):
        raise UntranslatableError('heat-translator does not write a valid template.')
    return templates


def _input(source: document.Document) -> dict[str, Any]:
    """Return the arguments for tosca-parser: the file, or its corrected content.

    tosca-parser finds imports next to a file only.
    """
    if (source.as_is and VERSION in source.content
            and source.file.endswith(('.yaml', '.yml'))):
        return {'path': str(Path(source.file).absolute())}
    return {'a_file': False, 'yaml_dict_tpl': {
        VERSION: profile.VERSION, **copy.deepcopy(dict(source.content))}}


@contextlib.contextmanager
def _quiet() -> Any:
    """Suppress warnings about flavors and images: they are completed here."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _beside(file: str) -> Any:
    """Let relative imports and scripts be found next to a descriptor."""
    before = Path.cwd()
    os.chdir(Path(file).parent)
    try:
        yield
    finally:
        os.chdir(before)


def _reasons(error: Exception, content: Mapping[str, Any]) -> str:
    """Return the reasons that a library gives, one a line.

    tosca-parser's start with a file name, and are interleaved with lines of its
    own code, which are indented twice.
    """
    reasons = [line.strip() for line in str(error).splitlines()
               if line.strip() and not line.startswith('\t\t')
               and 'following error(s)' not in line]
    if len(reasons) < 2 and not hasattr(error, 'msg_fmt'):
        reasons = [f'heat-translator cannot translate this '
                   f'({": ".join([type(error).__name__, *reasons])}).']
    if _VDU in str(error) and VERSION in content:
        reasons.append(f'To know {_VDU}, import nova_rt_nfv_types.yaml (see '
                       f'tacker-rt types), or give {VERSION}: '
                       f'{profile.VERSION}.')
    return '\n'.join(reasons)


def _carries(vdu: str, wanted: request.VduRequest, templates: Templates,
             nodes: Mapping[str, Any]) -> bool:
    """Return whether a VDU has servers, and each has its reservation."""
    hints, specs = hot.hints(wanted), hot.extra_specs(wanted)
    has_server = False
    for template in templates.values():
        for name, server in hot.servers(template, (vdu,), nodes):
            given = server['properties'].get(hot.HINTS) or {}
            has_server = True
            if hints.items() <= given.items() and hints:
                continue
            if not _in_flavor(name, specs, templates):
                return False
    return has_server


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
