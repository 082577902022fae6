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
from tacker_rt import manifests
from tacker_rt import workloads

FILES = 'lcm-kubernetes-def-files'
LABEL = kubernetes_resource.VNF_INSTANCE_ID_LABEL
_GROUP, _VERSION = claims.API_VERSION.split('/')
_PLURAL = 'resourceclaimtemplates'
_NAMESPACE = 'default'
_CONFLICT, _GONE = 409, 404
_CREATING = ('instantiate_start', 'change_current_package_start')
_DELETING = ('instantiate_rollback_end', 'terminate_start')


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
        self._where = (_GROUP, _VERSION, namespace, _PLURAL)
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
                    raise
                self._check_same(body)

    def delete(self) -> None:
        """Delete all that the VNF has."""
        found: Any = self._api.list_namespaced_custom_object(
            *self._where, label_selector=f'{LABEL}={self._owner}')
        for name in map(workloads.name_of, found['items']):
            try:
                self._api.delete_namespaced_custom_object(*self._where, name)
            except client.ApiException as exc:
                if exc.status != _GONE:
                    raise

    def _check_same(self, body: dict[str, Any]) -> None:
        name = workloads.name_of(body)
        found: Any = self._api.get_namespaced_custom_object(*self._where, name)
        if (found['metadata'].get('labels') or {}).get(LABEL) != self._owner:
            raise RefusedError(f'The {claims.KIND} {name} is there already, and not of this '
                               'VNF: give the one in the package another name.')
        if claims.read(found) != claims.read(body):
            raise RefusedError(f'The {claims.KIND} {name} is there already with other numbers, '
                               'and never changes: give the new one another name.')


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
    package = Path(script['tmp_csar_dir'])
    given = script['request'].get('additionalParams') or {}
    known = (vnf.get('instantiatedVnfInfo') or {}).get('metadata') or {}
    act: Callable[[Templates], None] = Templates.delete
    if operation in _CREATING:
        _check(package)
        made = _templates(package, given.get(FILES) or ())
        act = lambda templates: templates.create(made)  # noqa: E731
    with kubernetes_utils.AuthContextManager(_vim(vnf)) as cluster:
        act(Templates(cluster.init_k8s_api_client(), str(
            known.get('namespace') or given.get('namespace') or _namespace(
                package, given.get(FILES) or ())), vnf['id']))


def _check(package: Path) -> None:
    """Refuse a package that "tacker-rt validate" would refuse."""
    reports = [*manifests.validate(
        [document.load(path.name, path.read_text())
         for path in sorted(package.glob('Definitions/*.yaml'))],
        [each for path in sorted(package.glob('Files/**/*.yaml'))
         for each in document.load_all(str(path.relative_to(package)), path.read_text())])]
    if reports:
        raise RefusedError(' '.join(map(str, reports)))


def _objects(package: Path, files: Iterable[str]) -> Iterable[dict[str, Any]]:
    """Yield the objects in manifests of a package."""
    for name in files:
        for each in document.load_all(name, (package / name).read_text()):
            if isinstance(each.content, dict):
                yield each.content


def _templates(package: Path, files: Iterable[str]) -> list[dict[str, Any]]:
    return [each for each in _objects(package, files) if manifests.is_template(each)]


def _namespace(package: Path, files: Iterable[str]) -> str:
    """Return the namespace that Tacker finds in manifests if the request names none."""
    return next((str(found) for each in _objects(package, files) if workloads.is_workload(each)
                 and (found := each.get('metadata', {}).get('namespace'))), _NAMESPACE)


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
