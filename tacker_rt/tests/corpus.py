# SPDX-License-Identifier: Apache-2.0
"""The descriptors of heat-translator, tosca-parser and Tacker, to work on."""

from collections.abc import Iterable
import functools
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
from typing import Any
import zipfile

import yaml

from tacker_rt import profile
from tacker_rt.tests import upstream

RUNNER = Path(__file__).parent / 'translate_all.py'
TYPES = Path(profile.__file__).parent / profile.DEFINITIONS
RUNTIME_US = 60000
PERIOD_US = 100000
TIMES = {'cpu.rt_runtime_us': RUNTIME_US, 'cpu.rt_period_us': PERIOD_US}
_ETSI = 'https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/'

Results = dict[str, dict[str, Any]]


def copied(name: str, into: Path) -> list[Path]:
    """Copy the sources of a release, and return the descriptors in them.

    Packages are unpacked; where Tacker's build would add ETSI's types to
    one, they are added.
    """
    tree = into / name
    shutil.copytree(upstream.sources(name), tree, symlinks=True)
    for package in [*tree.rglob('*.zip'), *tree.rglob('*.csar')]:
        try:
            with zipfile.ZipFile(package) as packed:
                packed.extractall(package.with_name(f'{package.name}.d'))
        except (zipfile.BadZipFile, OSError):
            continue
    found = [path for pattern in ('*.yaml', '*.yml')
             for path in sorted(tree.rglob(pattern)) if _is_descriptor(path)]
    for path in found:
        if upstream.SOL001 in path.read_text():
            for each in (upstream.SOL001, upstream.COMMON):
                if not (path.parent / each).exists():
                    shutil.copy(upstream.types('2.6.1') / each, path.parent)
    return found


def _is_descriptor(path: Path) -> bool:
    try:
        content = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, ValueError, OSError):
        return False
    return isinstance(content, dict) and isinstance(
        content.get('topology_template'), dict)


def translated(python: str | Path, files: Iterable[Path]) -> Results:
    """Return what heat-translator makes of descriptors, run by a Python.

    Which of several errors tosca-parser names first depends on the order of a
    set, and so on the seed of hashes: that is the same in all runs.
    """
    local = {_ETSI + upstream.COMMON: str(
        upstream.types('2.6.1') / upstream.COMMON)}
    done = subprocess.run(
        [python, RUNNER], input=json.dumps(
            {'files': [str(each) for each in files], 'local': local}),
        capture_output=True, text=True, check=False, timeout=1800,
        env={**os.environ, 'PYTHONHASHSEED': '0'})
    assert done.returncode == 0, done.stderr
    results: Results = json.loads(done.stdout)
    return results


def with_reservations(path: Path, servers: dict[str, bool]) -> Path:
    """Write a copy of a descriptor whose servers ask for a reservation.

    :param servers: by name, whether it is a VDU of SOL001
    """
    content = yaml.safe_load(path.read_text())
    for name, is_sol001 in servers.items():
        _add(content, name, is_sol001)
    changed = path.with_name(f'reserving-{path.name}')
    changed.write_text(yaml.safe_dump(content, sort_keys=False))
    return changed


def _add(content: dict[str, Any], name: str, is_sol001: bool) -> None:
    node = content['topology_template']['node_templates'][name]
    compute = 'virtual_compute' if is_sol001 else 'nfv_compute'
    found = functools.reduce(
        lambda above, key: _map(above, key),
        ('capabilities', compute, 'properties'), node)
    if is_sol001:
        # What SOL001 requires of a VDU that says anything of its compute.
        _map(found, 'virtual_memory').setdefault('virtual_mem_size', '512 MB')
        _map(found, 'virtual_cpu').setdefault('num_virtual_cpu', 1)
        _map(_map(found, 'virtual_cpu'), 'vdu_cpu_requirements').update(
            {key: str(value) for key, value in TIMES.items()})
        return
    _map(found, 'cpu_allocation').update(TIMES)
    imports = content.setdefault('imports', [])
    if isinstance(imports, list) and not any(
            str(TYPES) in str(each) for each in imports):
        imports.append({'nova_rt': str(TYPES)})


def _map(above: dict[str, Any], key: str) -> dict[str, Any]:
    if above.get(key) is None:
        above[key] = {}
    found: dict[str, Any] = above[key]
    return found


def carried(result: dict[str, Any], servers: Iterable[str]) -> bool:
    """Return whether the reservation stands at every server in the templates.

    Read line by line: some of heat-translator's templates are no YAML, as it
    removes quotes.
    """
    return all(any(_hints(text, name) for text in result[
        'templates'].values()) for name in servers)


def _hints(text: str, server: str) -> bool:
    _, found, rest = text.partition(f'\n  {server}:\n')
    block = re.split(r'\n(?! {3})', rest)[0].split('scheduler_hints:')
    return bool(found) and len(block) == 2 and all(
        f'{name}: {value}' in block[1] for name, value in TIMES.items())
