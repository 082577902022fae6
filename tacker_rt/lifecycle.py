# SPDX-License-Identifier: Apache-2.0
"""Keep a VNF's ResourceClaimTemplates in the cluster, around Tacker's own operations.

Tacker 16's Kubernetes driver creates the objects of the kinds that its module
``kubernetes_resource`` has, and ignores others: ResourceClaimTemplates among them. What a
package may add are scripts that tacker-conductor runs before and after an operation
(``interfaces.Vnflcm`` of SOL001). Ours is one line that calls :func:`main`.

A template is deleted with its VNF only: after a change of package, workloads that Tacker did
not patch, and earlier revisions of those that it did, still name the old ones. One that no pod
uses reserves nothing.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import json
import os
from pathlib import Path
import pickle
import sys
import types
from typing import Any

from kubernetes import client
from tacker.sol_refactored.infra_drivers.kubernetes import kubernetes_resource
from tacker.sol_refactored.infra_drivers.kubernetes import kubernetes_utils

from nova_rt import errors
from tacker_rt import claims
from tacker_rt import document
from tacker_rt import locations
from tacker_rt import manifests
from tacker_rt import package
from tacker_rt import workloads

LABEL = kubernetes_resource.VNF_INSTANCE_ID_LABEL
_PLURAL = 'resourceclaimtemplates'
_NAMESPACE = 'default'
_CONFLICT, _GONE = 409, 404
# Of fields in a claim's requests.
_DEFAULTS = {'allocationMode': 'ExactCount', 'count': '1', 'operator': 'Equal'}
_CREATING = ('instantiate_start', 'change_current_package_start')
_ROLLBACK = 'instantiate_rollback_end'
_DELETING = (_ROLLBACK, 'terminate_start')


class RefusedError(errors.NovaRTError):
    """An operation that must not go on; the message is a sentence."""


class Templates:
    """The ResourceClaimTemplates of one VNF.

    :param api: client of the cluster
    :param namespace: of the VNF
    :param owner: the VNF's id, with which Tacker labels what it creates, too
    """

    def __init__(self, api: Any, namespace: str, owner: str) -> None:
        self._api = client.CustomObjectsApi(api)
        self._where = (claims.GROUP, claims.VERSION, namespace, _PLURAL)
        self._owner = owner

    def create(self, templates: Iterable[dict[str, Any]]) -> None:
        """Create what is not there; an operation may be tried again.

        :raises RefusedError: if another one of the same name is there
        """
        for template in templates:
            body = dict(template, metadata={
                **template['metadata'], 'namespace': self._where[2],
                'labels': {**(template['metadata'].get('labels') or {}), LABEL: self._owner}})
            try:
                self._api.create_namespaced_custom_object(*self._where, body)
            except client.ApiException as exc:
                if exc.status != _CONFLICT:
                    raise _refused(f'create the {claims.KIND} {workloads.name_of(body)}',
                                   exc) from exc
                self._check_same(body)

    def delete(self) -> None:
        """Delete all that the VNF has."""
        try:
            found: Any = self._api.list_namespaced_custom_object(
                *self._where, label_selector=f'{LABEL}={self._owner}')
        except client.ApiException as exc:
            raise _refused(f'list {claims.KIND}s', exc) from exc
        for name in map(workloads.name_of, found['items']):
            try:
                self._api.delete_namespaced_custom_object(*self._where, name)
            except client.ApiException as exc:
                if exc.status != _GONE:
                    raise _refused(f'delete the {claims.KIND} {name}', exc) from exc

    def _check_same(self, body: dict[str, Any]) -> None:
        name = workloads.name_of(body)
        try:
            found: Any = self._api.get_namespaced_custom_object(*self._where, name)
        except client.ApiException as exc:
            raise _refused(f'get the {claims.KIND} {name}', exc) from exc
        if (found['metadata'].get('labels') or {}).get(LABEL) != self._owner:
            raise RefusedError(f'The {claims.KIND} {name} is there already, and not of this '
                               'VNF: give the one in the package another name.')
        if _plain(found['spec']) != _plain(body['spec']):
            raise RefusedError(f'The {claims.KIND} {name} is there already with another spec, '
                               'and never changes: give the new one another name.')


def _plain(value: Any) -> Any:
    """Return a spec without what the cluster adds or leaves out, and numbers as text."""
    if isinstance(value, dict):
        plain = {key: _plain(each) for key, each in value.items()}
        return {key: each for key, each in plain.items()
                if each not in ('None', {}, []) and _DEFAULTS.get(key) != each}
    return [_plain(each) for each in value] if isinstance(value, list) else str(value)


def _refused(deed: str, exc: client.ApiException) -> RefusedError:
    """Return why the cluster has not done something: a missing right, a policy, or a fault."""
    try:
        reason = json.loads(exc.body or '')['message']
    except (TypeError, ValueError, LookupError):
        reason = f'{exc.status} {exc.reason}'
    return RefusedError(f'The cluster refuses to {deed}: {str(reason).rstrip(".")}.')


def run(script: Mapping[str, Any]) -> None:
    """Do what there is to do around one operation.

    :param script: what Tacker tells a script
    :raises RefusedError: if the package's descriptor and manifests disagree, a name is
        taken, or the operation is none of the script's
    """
    operation, vnf = script['operation'], script['vnf_instance']
    if operation not in (*_CREATING, *_DELETING):
        raise RefusedError(
            f'The script for {claims.KIND}s has nothing to do at {operation}: name it in the '
            f'VNFD at {", ".join((*_CREATING, *_DELETING))} only.')
    csar = package.Package(Path(script['tmp_csar_dir']))
    given = script['request'].get('additionalParams') or {}
    known = vnf.get('instantiatedVnfInfo') or {}
    files = given.get(package.FILES)
    act: Callable[[Templates], None] = Templates.delete
    try:
        if operation in _CREATING:
            _check(csar, files, script['request'].get('flavourId') or known.get('flavourId'))
            made = [each.content for each in csar.named(files)
                    if manifests.is_template(each.content)]
            act = lambda templates: templates.create(made)  # noqa: E731
        namespace = str((known.get('metadata') or {}).get('namespace') or given.get('namespace')
                        or _namespace(csar.named(files)))
    except (package.RefusedError, document.UnreadableError) as exc:
        if operation == _ROLLBACK:
            # For the same reason nothing has been created.
            return
        raise RefusedError(str(exc)) from exc
    with kubernetes_utils.AuthContextManager(_vim(vnf)) as cluster:
        act(Templates(cluster.init_k8s_api_client(), namespace, vnf['id']))


def _check(csar: package.Package, files: Any, flavour: str | None) -> None:
    """Refuse a package that "tacker-rt validate" would refuse, as far as it is deployed."""
    reports = csar.check(lambda: csar.named(files), flavour)
    if reports:
        raise RefusedError(' '.join(map(str, reports)))


def _namespace(objects: Iterable[document.Document]) -> str:
    """Return the namespace that Tacker finds in manifests if the request names none."""
    return next((str(found) for each in objects if workloads.is_workload(each.content)
                 and (found := locations.at(each.content, ('metadata', 'namespace')))), _NAMESPACE)


def _vim(vnf: Mapping[str, Any]) -> Any:
    """Return how to reach the cluster, as Tacker's own code takes it."""
    connection = next(iter(vnf['vimConnectionInfo'].values()))
    return types.SimpleNamespace(interfaceInfo=connection.get('interfaceInfo', {}),
                                 accessInfo=connection.get('accessInfo', {}))


def main() -> None:
    """Run as Tacker runs a script: it reads pickles, and what a failure says."""
    try:
        run(pickle.load(sys.stdin.buffer))  # noqa: S301
    except Exception as exc:
        reason = str(exc) if isinstance(exc, RefusedError) else f'{type(exc).__name__}: {exc}'
        sys.stderr.write(reason)
        sys.stderr.flush()
        # Not sys.exit: whatever Tacker's modules registered would run first.
        os._exit(1)
    sys.stdout.buffer.write(pickle.dumps({}))
    sys.stdout.flush()
    os._exit(0)
