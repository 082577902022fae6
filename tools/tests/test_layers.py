# SPDX-License-Identifier: Apache-2.0
"""Imports point one way: a room may import only what this table allows it."""

from graphlib import CycleError
from graphlib import TopologicalSorter

from house import imports
from house import MODULES
from house import PACKAGES
import pytest

# The pure modules, directly below nova_rt; defrag, model and they import nothing of
# OpenStack's but the options' library.
PURE = {'nova_rt', 'nova_rt.defrag', 'nova_rt.model'}
NOVAS = {'nova', 'oslo_log', 'oslo_messaging', 'libvirt'}
_FLOOR = {'nova_rt', 'nova_rt.instance', 'nova_rt.allocations'}
_PRODUCT = _FLOOR | {
    'nova_rt.signatures', 'nova_rt.virt', 'nova_rt.filters', 'nova_rt.policies',
    'nova_rt.limits', 'nova_rt.api',
    'nova_rt.compute', 'nova_rt.conductor', 'nova_rt.db', 'nova_rt.audit', 'nova_rt.view',
    'nova_rt.explain', 'nova_rt.metrics', 'nova_rt.monitor', 'nova_rt.reaction',
    'nova_rt.removal', 'nova_rt.defrag', 'nova_rt.model'}

# By room, the rooms that it may import, itself always among them. A folder or a
# module of its own; what is not named belongs to the nearest room above it.
ALLOWED = {
    'nova_rt': set(),
    'nova_rt.defrag': {'nova_rt'},
    'nova_rt.model': {'nova_rt'},
    'nova_rt.signatures': {'nova_rt'},
    'nova_rt.instance': {'nova_rt'},
    'nova_rt.allocations': {'nova_rt'},
    'nova_rt.db': {'nova_rt'},
    'nova_rt.policies': {'nova_rt'},
    'nova_rt.limits': _FLOOR | {'nova_rt.db'},
    'nova_rt.api': {'nova_rt', 'nova_rt.instance', 'nova_rt.policies', 'nova_rt.limits'},
    'nova_rt.virt': _FLOOR,
    'nova_rt.filters': _FLOOR | {'nova_rt.signatures'},
    'nova_rt.compute': _FLOOR | {
        'nova_rt.defrag', 'nova_rt.signatures', 'nova_rt.virt', 'nova_rt.reaction'},
    'nova_rt.conductor': _FLOOR | {
        'nova_rt.signatures', 'nova_rt.filters', 'nova_rt.view', 'nova_rt.explain'},
    'nova_rt.audit': _FLOOR | {'nova_rt.virt'},
    'nova_rt.view': _FLOOR | {'nova_rt.filters'},
    'nova_rt.explain': _FLOOR | {
        'nova_rt.defrag', 'nova_rt.filters', 'nova_rt.limits', 'nova_rt.view'},
    'nova_rt.metrics': _FLOOR | {'nova_rt.monitor', 'nova_rt.virt'},
    'nova_rt.monitor': {'nova_rt'},
    'nova_rt.reaction': _FLOOR | {'nova_rt.monitor', 'nova_rt.virt'},
    'nova_rt.removal': _FLOOR | {'nova_rt.db', 'nova_rt.virt'},
    'nova_rt.rest': _FLOOR | {
        'nova_rt.db', 'nova_rt.defrag', 'nova_rt.policies', 'nova_rt.limits', 'nova_rt.view',
        'nova_rt.explain'},
    'nova_rt.osc': {'nova_rt', 'nova_rt.sdk'},
    'nova_rt.sdk': {'nova_rt'},
    'nova_rt.cmd': _PRODUCT,
    'nova_rt.testing': _PRODUCT,
    'horizon_rt': {'nova_rt', 'nova_rt.sdk'},
    'tacker_rt': {'nova_rt'},
    'tacker_rt.testing': {'nova_rt', 'tacker_rt'},
    'watcher_rt': {'nova_rt', 'nova_rt.sdk'},
    'stack': {
        'nova_rt', 'nova_rt.api', 'nova_rt.model', 'nova_rt.monitor', 'nova_rt.reaction',
        'nova_rt.virt', 'tacker_rt.testing'},
    'demo': {'nova_rt', 'nova_rt.virt', 'nova_rt.testing', 'stack'},
    'bench': _PRODUCT | {'nova_rt.testing', 'tacker_rt', 'stack'},
    'experiments': _PRODUCT | {'nova_rt.testing', 'nova_rt.cmd', 'stack'},
}


def room_of(module: str) -> str:
    """Return the room of a module: the longest name above it in the table."""
    names = module.split('.')
    return next(room for room in (
        '.'.join(names[:length]) for length in range(len(names), 0, -1))
        if room in ALLOWED)


ARROWS = {
    name: sorted({target for imported in imports(path)
                  for target in (imported, imported.rpartition('.')[0])
                  if target in MODULES and target != name})
    for name, path in MODULES.items()}


def test_the_table_has_every_room_that_there_is():
    assert {room_of(name) for name in MODULES} == set(ALLOWED)


@pytest.mark.parametrize('room', ALLOWED)
def test_a_room_imports_only_what_the_table_allows(room):
    upward = [f'{name} -> {target}' for name in MODULES
              if room_of(name) == room for target in ARROWS[name]
              if room_of(target) not in {room} | ALLOWED[room]]
    assert upward == []


def test_no_module_imports_in_a_circle():
    graph = {name: {target for target in targets
                    if MODULES[target].name != '__init__.py'}
             for name, targets in ARROWS.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as exc:
        pytest.fail(f'A circle: {" -> ".join(exc.args[1])}')


def test_the_table_itself_has_no_circle():
    TopologicalSorter(
        {room: allowed - {room} for room, allowed in ALLOWED.items()}).prepare()


def test_pure_modules_import_nothing_of_nova():
    assert [f'{name} -> {imported}' for name, path in MODULES.items()
            if room_of(name) in PURE for imported in imports(path)
            if imported.split('.')[0] in NOVAS] == []


def test_nothing_outside_imports_from_a_folder_of_tests():
    assert [f'{name} -> {imported}' for name, path in MODULES.items()
            for imported in imports(path)
            if imported.split('.')[0] in PACKAGES
            and 'tests' in imported.split('.')] == []
