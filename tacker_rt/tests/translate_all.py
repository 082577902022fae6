# SPDX-License-Identifier: Apache-2.0
"""Translate many descriptors by heat-translator, and tell what came of it.

A program, as it is also run by a Python that has heat-translator but not
nova-rt: ``translate_all.py < FILES.json > RESULTS.json``. It imports nothing of
ours. For each file: its templates by name, the names of its servers with what
they derive from, or the error.
"""

import contextlib
import io
import json
import logging
import os
import sys
import tempfile
import urllib.error
import urllib.request

from toscaparser.tosca_template import ToscaTemplate
from translator.hot.tosca_translator import TOSCATranslator

PLACEHOLDERS = {'integer': 1, 'float': 1.0, 'boolean': True, 'list': [],
                'map': {}, 'json': {}, 'scalar-unit.size': '1 GB',
                'version': '1.0', 'timestamp': '2020-01-01'}


def parameters(path):
    """Return values for the inputs that have no default."""
    import yaml
    with open(path) as file:
        content = yaml.safe_load(file)
    inputs = (content.get('topology_template') or {}).get('inputs') or {}
    return {name: _value(each) for name, each in inputs.items()
            if 'default' not in each}


def _value(definition):
    for constraint in definition.get('constraints') or ():
        for name, given in constraint.items():
            if name == 'valid_values':
                return given[0]
            if name in ('in_range', 'greater_or_equal'):
                return given[0] if isinstance(given, list) else given
    return PLACEHOLDERS.get(definition.get('type'), 'given')


def translated(path, local):
    """Return the result for one file."""
    os.chdir(os.path.dirname(path))
    given = parameters(path)
    tosca = ToscaTemplate(path, given, True, local_defs=local)
    translator = TOSCATranslator(tosca, given)
    templates = translator.translate_to_yaml_files_dict('main.yaml')
    servers = {}
    for node, resource in translator.node_translator.hot_lookup.items():
        if getattr(resource, 'type', None) == 'OS::Nova::Server':
            servers[node.name] = any(
                each.name == 'virtual_compute'
                for each in node.get_capabilities_objects())
    return {'templates': templates, 'servers': servers}


def reason(error):
    """Return what an error says, without the traceback in its text."""
    lines = [line for line in str(error).splitlines()
             if not line.startswith('\t\t')]
    return f'{type(error).__name__}: ' + '\n'.join(lines)


def offline(*args, **kwargs):
    """Stand in for urlopen: what a descriptor finds is not to depend on it."""
    raise urllib.error.URLError('not fetched in a test')


def main():
    """Translate the files that standard input names."""
    urllib.request.urlopen = offline
    logging.disable(logging.CRITICAL)
    asked = json.load(sys.stdin)
    results = {}
    for path in asked['files']:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                results[path] = translated(path, asked['local'])
            except (Exception, SystemExit) as error:
                results[path] = {'error': reason(error)}
    os.chdir(tempfile.gettempdir())
    json.dump(results, sys.stdout, sort_keys=True, default=str)


if __name__ == '__main__':
    main()
