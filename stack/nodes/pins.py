# SPDX-License-Identifier: Apache-2.0
"""The Python packages of a node: exactly those that this environment has."""

from collections.abc import Iterable
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# pytest runs the conformance tests on the node's kernel.
ROOTS = ('nova-rt', 'pytest')
# nova-rt comes as the tree has it, at every start of a node.
LEFT_OUT = frozenset({'nova-rt'})


def pins(roots: Iterable[str] = ROOTS) -> list[str]:
    """Return NAME==VERSION for all that the roots need, sorted.

    :raises PackageNotFoundError: if something is not installed here.
    """
    found: dict[str, str] = {}
    todo = [canonicalize_name(root) for root in roots]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        distribution = metadata.distribution(name)
        found[name] = distribution.version
        for text in distribution.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({'extra': ''}):
                todo.append(canonicalize_name(needed.name))
    return sorted(f'{name}=={version}' for name, version in found.items()
                  if name not in LEFT_OUT)
