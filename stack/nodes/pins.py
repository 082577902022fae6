# SPDX-License-Identifier: Apache-2.0
"""The Python packages of a node: exactly those that this environment has."""

from collections.abc import Iterable
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# Neutron for its agent; pytest runs the conformance tests on the node's kernel.
ROOTS = ('nova-rt', 'neutron', 'pytest')
# nova-rt comes as the tree has it, at every start of a node.
LEFT_OUT = frozenset({'nova-rt'})


def pins(roots: Iterable[str] = ROOTS) -> list[str]:
    """Return NAME==VERSION for all that the roots need, sorted.

    :raises PackageNotFoundError: if something is not installed here.
    """
    versions: dict[str, str] = {}
    seen: set[Requirement] = set()
    todo = [Requirement(root) for root in roots]
    while todo:
        requirement = todo.pop()
        if requirement in seen:
            continue
        seen.add(requirement)
        distribution = metadata.distribution(requirement.name)
        versions[canonicalize_name(requirement.name)] = distribution.version
        todo += _needs(distribution, requirement.extras)
    return sorted(f'{name}=={version}' for name, version in versions.items()
                  if name not in LEFT_OUT)


def _needs(distribution: metadata.Distribution,
           extras: set[str]) -> Iterator[Requirement]:
    for text in distribution.requires or ():
        needed = Requirement(text)
        if needed.marker is None or any(
                needed.marker.evaluate({'extra': extra})
                for extra in ('', *extras)):
            yield needed
