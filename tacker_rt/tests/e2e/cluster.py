# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes cluster with the driver, and Tacker's operator who runs VNFs in it.

The control plane is real; the node is fake (``kubernetes/tests/serve_test.go``).
NOVA_RT_CLUSTER names the file of one that is up already, which is left running.
"""

from collections.abc import Iterator
import contextlib
import json
import os
import pathlib
import subprocess
from typing import Any

from kubernetes import client
import pytest

from nova_rt.tests.e2e import driver
from tacker_rt.tests.e2e import vnf

PROGRAM = pathlib.Path(__file__).parents[3] / 'kubernetes' / 'test'
NAMESPACE = 'default'
MANIFEST = 'Files/kubernetes/vnf.yaml'
# The control plane is built at first.
PATIENCE_S = 1800


@contextlib.contextmanager
def running(scratch: pathlib.Path) -> Iterator['Cluster']:
    """Run a cluster, and end it with nothing left on its node."""
    if given := os.environ.get('NOVA_RT_CLUSTER'):
        yield Cluster(json.loads(pathlib.Path(given).read_text()))
        return
    file = scratch / 'cluster.json'
    with (scratch / 'cluster.log').open('w') as log, subprocess.Popen(
            (PROGRAM, 'serve', file), stdin=subprocess.PIPE, stdout=log, stderr=log) as served:
        driver.until(lambda: file.exists() or served.poll() is not None,
                     'the cluster is up', PATIENCE_S)
        if not file.exists():
            pytest.fail((scratch / 'cluster.log').read_text())
        yield Cluster(json.loads(file.read_text()))
        assert served.stdin
        served.stdin.close()
        assert served.wait(driver.PATIENCE) == 0, (scratch / 'cluster.log').read_text()


class Cluster:
    """Looks at what is in a cluster, and at its node.

    :ivar vim: how Tacker reaches it
    """

    def __init__(self, where: dict[str, str]) -> None:
        certificate = pathlib.Path(where['certificate'])
        self.vim = {
            'vimType': 'ETSINFV.KUBERNETES.V_1',
            'interfaceInfo': {'endpoint': where['server'],
                              'ssl_ca_cert': certificate.read_text()},
            'accessInfo': {'bearer_token': where['token']}}
        configuration = client.Configuration()
        configuration.host = where['server']
        configuration.ssl_ca_cert = str(certificate)
        configuration.api_key = {'BearerToken': f'Bearer {where["token"]}'}
        self._api = client.ApiClient(configuration)
        self._group = pathlib.Path(where['group'])

    def running(self, app: str) -> int:
        """Return how many pods of a Deployment run."""
        pods = client.CoreV1Api(self._api).list_namespaced_pod(
            NAMESPACE, label_selector=f'app={app}')
        return len([pod for pod in pods.items if pod.status.phase == 'Running'])

    def allocated(self) -> list[list[tuple[str, str]]]:
        """Return by claim the pCPUs that the scheduler took, and the bandwidth of each."""
        return sorted(
            sorted((device['device'], device['consumedCapacity']['bandwidth'])
                   for device in claim['status']['allocation']['devices']['results'])
            for claim in self._list('resourceclaims')
            if claim.get('status', {}).get('allocation'))

    def names(self, plural: str) -> list[str]:
        """Return the names of the objects of a kind of ``resource.k8s.io/v1``."""
        return sorted(each['metadata']['name'] for each in self._list(plural))

    def create(self, template: dict[str, Any]) -> None:
        """Create a ResourceClaimTemplate."""
        client.CustomObjectsApi(self._api).create_namespaced_custom_object(
            'resource.k8s.io', 'v1', NAMESPACE, 'resourceclaimtemplates', template)

    def delete(self, name: str) -> None:
        """Delete a ResourceClaimTemplate."""
        client.CustomObjectsApi(self._api).delete_namespaced_custom_object(
            'resource.k8s.io', 'v1', NAMESPACE, 'resourceclaimtemplates', name)

    def runtimes_us(self) -> list[list[int]]:
        """Return what the node's kernel was told, by container with a runtime and by pCPU."""
        told = [[int(word) for word in file.read_text().split('\n')[0].split()]
                for file in self._group.glob('pod*/*/cpu.rt_multi_runtime_us')]
        return sorted(runtimes for runtimes in told if max(runtimes) > 0)

    def is_empty(self) -> bool:
        """Whether no claim, template or pod is left."""
        return not (self.names('resourceclaims') or self.names('resourceclaimtemplates')
                    or self.runtimes_us() or any(self._group.glob('pod*')))

    def _list(self, plural: str) -> list[dict[str, Any]]:
        listed = client.CustomObjectsApi(self._api).list_namespaced_custom_object(
            'resource.k8s.io', 'v1', NAMESPACE, plural)
        items: list[dict[str, Any]] = listed['items']
        return items


class Operator(vnf.Operator):
    """Runs VNFs of containers.

    :ivar cluster: where
    """

    cluster: Cluster

    def place(self) -> dict[str, Any]:
        """Return the cluster as VIM."""
        return {'vimConnectionInfo': {'cluster': self.cluster.vim}}
