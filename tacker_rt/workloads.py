# SPDX-License-Identifier: Apache-2.0
"""Objects of Kubernetes that make pods, and the claims of these pods."""

from collections.abc import Collection
from collections.abc import Mapping
import copy
from typing import Any

import yaml

from nova_rt import reservation
from nova_rt import wording
from tacker_rt import locations

# Those of which Tacker finds a VDU's pods.
KINDS = ('Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Pod')
# What has the runtime refuse a container that the driver has not seen.
ANNOTATION = 'required-plugins.noderesource.dev/pod'
PLUGIN = 'nova-rt'
CLAIM = 'rt'


def name_of(content: Any) -> str:
    """Return the name of an object, empty if it has none."""
    return str(locations.at(content, ('metadata', 'name')) or '')


def is_workload(content: Any) -> bool:
    """Return whether an object makes pods of a VDU."""
    return isinstance(content, dict) and content.get('kind') in KINDS


def pod_path(workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where the pod of a workload is described."""
    return () if workload['kind'] == 'Pod' else ('spec', 'template')


def templates(pod: Any) -> dict[str, str]:
    """Return the names of a pod's ResourceClaimTemplates, by its names for the claims."""
    return {str(each['name']): str(each['resourceClaimTemplateName'])
            for each in _maps(pod, ('spec', 'resourceClaims'))
            if {'name', 'resourceClaimTemplateName'} <= set(each)}


def containers(pod: Any) -> list[dict[str, Any]]:
    """Return the containers of a pod."""
    return _maps(pod, ('spec', 'containers'))


def users(pod: Any, claim: str, request: str | None = None) -> list[str]:
    """Return the names of a pod's containers that have one of its claims.

    :param request: of the claim, whose devices they are to have; None for any
    """
    return [str(container.get('name')) for container in containers(pod)
            if any(each.get('name') == claim
                   # Without one, a container has those of all requests.
                   and (request is None or (each.get('request') or request) == request)
                   for each in _maps(container, ('resources', 'claims')))]


def is_guarded(pod: Any) -> bool:
    """Return whether the runtime refuses the pod's containers without the driver."""
    return PLUGIN in _required(locations.at(pod, ('metadata', 'annotations')))


def with_claim(workload: Mapping[str, Any], template: str) -> dict[str, Any]:
    """Return a workload, the first container of whose pods has a claim of a template.

    Nothing else of it changes; a pod that has a claim of the template keeps it.

    :raises nova_rt.reservation.InvalidReservationError: if it is written as no workload is
    """
    changed = copy.deepcopy(dict(workload))
    pod = changed
    for key in pod_path(workload):
        pod = _below(pod, key, {})
    known = [name for name, made_of in templates(pod).items() if made_of == template]
    name = known[0] if known else _free_name(pod)
    spec = _below(pod, 'spec', {})
    if not known:
        _below(spec, 'resourceClaims', []).append(
            {'name': name, 'resourceClaimTemplateName': template})
    if not users(pod, name) and containers(pod):
        _below(_below(containers(pod)[0], 'resources', {}), 'claims', []).append({'name': name})
    if not is_guarded(pod):
        annotations = _below(_below(pod, 'metadata', {}), 'annotations', {})
        plugins = [*_required(annotations), PLUGIN]
        annotations[ANNOTATION] = f'[{", ".join(plugins)}]'
    return changed


def without_claims(workload: Mapping[str, Any], unwanted: Collection[str]) -> dict[str, Any]:
    """Return a workload whose pods have no claim of these templates."""
    changed = copy.deepcopy(dict(workload))
    pod = locations.at(changed, pod_path(workload))
    gone = {name for name, made_of in templates(pod).items() if made_of in unwanted}
    if gone:
        _drop(pod['spec'], 'resourceClaims', gone)
        for container in containers(pod):
            if _maps(container, ('resources', 'claims')):
                _drop(container['resources'], 'claims', gone)
    return changed


def _drop(content: dict[str, Any], key: str, names: Collection[str]) -> None:
    """Take the items of these names out of a list, and an empty list away."""
    content[key] = [each for each in content[key]
                    if not (isinstance(each, dict) and each.get('name') in names)]
    if not content[key]:
        del content[key]


def _below(content: dict[str, Any], key: str, nothing: Any) -> Any:
    """Return the map or list at a key, which is made if there is none; null is none.

    :param nothing: an empty one
    """
    if content.get(key) is None:
        content[key] = nothing
    if not isinstance(content[key], type(nothing)):
        kind = 'map' if isinstance(nothing, dict) else 'list'
        raise reservation.InvalidReservationError(
            f'{key} is {wording.shown(content[key])}: give a {kind}.')
    return content[key]


def _free_name(pod: Any) -> str:
    """Return a name for a claim that a pod does not use."""
    taken = {each.get('name') for each in _maps(pod, ('spec', 'resourceClaims'))}
    return next(name for number in range(len(taken) + 1)
                if (name := CLAIM + (str(number) if number else '')) not in taken)


def _required(annotations: Any) -> list[str]:
    """Return the plug-ins without which a pod's containers are refused."""
    text = annotations.get(ANNOTATION) if isinstance(annotations, dict) else None
    try:
        plugins = yaml.safe_load(text) if isinstance(text, str) else None
    except yaml.YAMLError:
        plugins = None
    return [str(each) for each in plugins] if isinstance(plugins, list) else []


def _maps(content: Any, path: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the maps in a list."""
    items = locations.at(content, path)
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []
