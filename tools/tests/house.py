# SPDX-License-Identifier: Apache-2.0
"""The modules of the repository, for tests of its structure."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    'horizon_rt', 'nova_rt', 'tacker_rt', 'watcher_rt', 'stack', 'demo', 'bench', 'experiments')


def modules() -> dict[str, Path]:
    """Return all modules but those of tests, by name."""
    paths = (path for package in PACKAGES
             for path in sorted((ROOT / package).rglob('*.py')))
    return {name_of(path): path for path in paths if 'tests' not in path.parts}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def imports(path: Path) -> Iterator[str]:
    """Yield what a module imports, late imports included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


MODULES = modules()
