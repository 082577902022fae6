# SPDX-License-Identifier: Apache-2.0
"""``Any`` stands only where something comes in that has no types of its own."""

import ast

from house import MODULES

# What has no types, and the modules, or all below a package, that meet it.
EDGES = {
    "Nova's own methods, which are overridden or called": {
        'nova_rt.compute.claims', 'nova_rt.compute.evacuation',
        'nova_rt.compute.live_migration', 'nova_rt.compute.manager',
        'nova_rt.compute.resource_tracker', 'nova_rt.conductor.manager',
        'nova_rt.conductor.requests', 'nova_rt.conductor.tasks',
        'nova_rt.filters.hooks', 'nova_rt.filters.request_filter',
        'nova_rt.filters.rt_share_weigher', 'nova_rt.signatures',
        'nova_rt.testing', 'nova_rt.virt.driver', 'nova_rt.virt.live_migration',
        'nova_rt.virt.root_disk',
        'nova_rt.virt.vif'},
    "Placement's answers": {'nova_rt.allocations', 'nova_rt.removal.placement'},
    'WSGI, its applications, and JSON that comes in by it': {
        'nova_rt.api.paste_filter', 'nova_rt.rest.application', 'nova_rt.rest.deploy',
        'nova_rt.rest.endpoints', 'nova_rt.rest.errors', 'nova_rt.rest.validation'},
    "answers of an API, and osc-lib's manager of clients": {
        'nova_rt.osc.client', 'nova_rt.osc.columns', 'nova_rt.osc.identifiers',
        'nova_rt.osc.plugin', 'nova_rt.sdk.answers',
        'nova_rt.sdk.proxy'},
    'Django and Horizon': {'horizon_rt'},
    "cliff's parsers": {'nova_rt.cmd.manage', 'nova_rt.cmd.plan'},
    "Watcher's own classes, and the steps of plans": {'watcher_rt'},
    'YAML and CSV of users': {'nova_rt.model.taskfile', 'tacker_rt'},
    'Matplotlib and numba': {
        'nova_rt.cmd.plan_paper', 'nova_rt.cmd.plan_plot',
        'nova_rt.model.jit', 'nova_rt.model.plots'},
    'clients and services of a whole OpenStack': {
        'bench', 'demo', 'experiments', 'stack'},
}


def uses_any(path):
    return any(isinstance(node, ast.Name) and node.id == 'Any'
               for node in ast.walk(ast.parse(path.read_text())))


def is_below(name, package):
    return name == package or name.startswith(f'{package}.')


def test_any_stands_at_an_edge_only():
    edges = set().union(*EDGES.values())
    assert [name for name, path in MODULES.items()
            if uses_any(path)
            and not any(is_below(name, edge) for edge in edges)] == []


def test_every_edge_is_one():
    assert [edge for edge in sorted(set().union(*EDGES.values()))
            if not any(uses_any(path) for name, path in MODULES.items()
                       if is_below(name, edge))] == []
