# SPDX-License-Identifier: Apache-2.0
"""Descriptors that have lost their indentation, as when copied from a PDF.

The descriptors of the OpenStack paper, section 5.1, look like this when copied.
YAML would read them as one flat map, or not at all. TOSCA determines the
nesting of the few keys that such a descriptor has.
"""

import re

_ELLIPSIS = re.compile(r'^[ \t]+\.\.\.[ \t]*$', re.MULTILINE)
_TOPOLOGY = 'topology_template'
_TEMPLATES = 'node_templates'
_TYPE = 'type'
_CAPABILITIES = 'capabilities'
_PROPERTIES = 'properties'
_ALLOCATION = 'cpu_allocation'
_OF_COMPUTE = ('num_cpus', 'mem_size', 'disk_size', 'mem_page_size',
               'numa_node_count', 'numa_nodes')
_OF_NODES = (_TYPE, _CAPABILITIES, 'requirements', 'artifacts', 'interfaces')
_INDENT = '  '


def remove_ellipses(text: str) -> str:
    """Return a text without the ellipses that mark omissions.

    At the start of a line, ``...`` ends a YAML document; indented, it is the
    author's and not valid YAML.
    """
    return _ELLIPSIS.sub('', text)


def restore(text: str) -> str | None:
    """Return a descriptor with its indentation, None if it was not lost.

    Line numbers stay the same.
    """
    lines = text.splitlines()
    keys = [line.partition(':')[0].strip() for line in lines]
    if (_TOPOLOGY not in keys or _TEMPLATES not in keys
            or any(line[:1] in (' ', '\t', '-') for line in lines)):
        return None
    levels = _Levels()
    return '\n'.join(
        _INDENT * levels.of(key, opens=line.rstrip() == f'{key}:',
                            following=following) + line
        if ':' in line and not line.startswith('#') else line
        for line, key, following in zip(
            lines, keys, [*keys[1:], ''], strict=True)) + '\n'


class _Levels:
    """The nesting level of each line, determined line by line."""

    def __init__(self) -> None:
        self._level = 0
        self._opened = False
        self._previous = ''

    def of(self, key: str, opens: bool, following: str) -> int:
        """Return the level of the next line.

        :param opens: whether the line has no value of its own
        :param following: the key on the line after this one
        """
        self._level = self._next(key, opens, following)
        self._opened, self._previous = opens, key
        return self._level

    def _next(self, key: str, opens: bool, following: str) -> int:
        if key == _TOPOLOGY:
            return 0
        if self._previous == '':
            return 0
        if key == _TEMPLATES:
            return 1
        if opens and following == _TYPE:
            return 2
        if key in _OF_NODES:
            return 3
        if key == _PROPERTIES:
            return 5 if self._level == 4 else 3
        if key in _OF_COMPUTE or key == _ALLOCATION:
            return 6
        # A sibling of the previous capability.
        if opens and following == _PROPERTIES and self._level > 4:
            return 4
        if self._level == 0 and not self._opened:
            return 0
        return self._level + 1 if self._opened else self._level
