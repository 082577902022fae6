# SPDX-License-Identifier: Apache-2.0
"""The script around Tacker's operations. The cluster is a fake: it answers as one can."""

import pickle
import subprocess
import sys

from kubernetes import client
import pytest
import yaml

from tacker_rt import lifecycle
from tacker_rt import manifests
from tacker_rt.testing import packages

PACKAGE = packages.EXAMPLES / 'containers'
MANIFEST = 'Files/kubernetes/vnf.yaml'
VNF = 'c9f7b0b5-8e5a-4ff0-9a71-0d6c76b2a7d1'
NAME = 'rt-30000-100000-2'


class FakeCluster:
    """Keeps templates by namespace and name, and does what an API server does."""

    def __init__(self):
        self.kept = {}
        self.fails = None

    def create_namespaced_custom_object(self, group, version, namespace, plural, body):
        assert (group, version, plural) == ('resource.k8s.io', 'v1', 'resourceclaimtemplates')
        if self.fails:
            raise client.ApiException(self.fails)
        if (namespace, body['metadata']['name']) in self.kept:
            raise client.ApiException(409)
        self.kept[namespace, body['metadata']['name']] = body

    def get_namespaced_custom_object(self, group, version, namespace, plural, name):
        return self.kept[namespace, name]

    def list_namespaced_custom_object(self, group, version, namespace, plural, label_selector):
        key, _, value = label_selector.partition('=')
        return {'items': [body for (where, _), body in self.kept.items() if where == namespace
                          and (body['metadata'].get('labels') or {}).get(key) == value]}

    def delete_namespaced_custom_object(self, group, version, namespace, plural, name):
        if self.fails:
            raise client.ApiException(self.fails)
        del self.kept[namespace, name]


@pytest.fixture
def cluster(monkeypatch):
    made = FakeCluster()
    monkeypatch.setattr(client, 'CustomObjectsApi', lambda api: made)
    return made


def script(operation, package=PACKAGE, namespace=None, metadata=None):
    vnf = {'id': VNF, 'vimConnectionInfo': {'vim': {
        'interfaceInfo': {'endpoint': 'https://127.0.0.1:1'},
        'accessInfo': {'bearer_token': 'a'}}}}
    if metadata:
        vnf['instantiatedVnfInfo'] = {'metadata': metadata}
    given = {lifecycle.FILES: [MANIFEST]}
    if namespace:
        given['namespace'] = namespace
    request = {'additionalParams': given} if operation != 'terminate_start' else {}
    return {'operation': operation, 'vnf_instance': vnf, 'request': request,
            'tmp_csar_dir': str(package)}


def copied(tmp_path, **edits):
    """Return a copy of the package with edits."""
    for source in PACKAGE.rglob('*.yaml'):
        text = source.read_text()
        for old, new in edits.items():
            text = text.replace(old, new)
        target = tmp_path / source.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return tmp_path


def template():
    return next(each for each in yaml.safe_load_all((PACKAGE / MANIFEST).read_text())
                if manifests.is_template(each))


@pytest.mark.parametrize('namespace', [None, 'edge'])
def test_templates_come_before_the_pods_and_go_with_the_vnf(cluster, namespace):
    lifecycle.run(script('instantiate_start', namespace=namespace))
    (where, name), = cluster.kept
    assert (where, name) == (namespace or 'default', NAME)
    assert cluster.kept[where, name]['spec'] == template()['spec']
    lifecycle.run(script('terminate_start', metadata={'namespace': where}))
    assert cluster.kept == {}


def test_an_operation_that_is_tried_again_finds_what_is_there(cluster):
    lifecycle.run(script('instantiate_start'))
    lifecycle.run(script('instantiate_start'))
    assert list(cluster.kept) == [('default', NAME)]


def test_what_others_have_is_neither_taken_nor_deleted(cluster):
    cluster.kept['default', NAME] = template()
    with pytest.raises(lifecycle.RefusedError, match='is there already, and not of this VNF'):
        lifecycle.run(script('instantiate_start'))
    lifecycle.run(script('instantiate_rollback_end'))
    assert list(cluster.kept) == [('default', NAME)]


def test_a_change_of_package_leaves_the_old_templates_until_the_vnf_ends(cluster, tmp_path):
    lifecycle.run(script('instantiate_start'))
    new = copied(tmp_path, **{NAME: 'rt-20000-100000-2', "'30000'": "'20000'",
                              '30000\n': '20000\n', '314572': '209715'})
    lifecycle.run(script('change_current_package_start', new, namespace='default'))
    assert {name for _, name in cluster.kept} == {NAME, 'rt-20000-100000-2'}
    lifecycle.run(script('terminate_start', new, metadata={'namespace': 'default'}))
    assert cluster.kept == {}


@pytest.mark.parametrize('operation', [
    'instantiate_end', 'instantiate_rollback_start', 'scale_start', 'heal_end',
    'change_current_package_end', 'change_current_package_rollback_start',
    'change_current_package_rollback_end', 'modify_information_start', 'terminate_end'])
def test_at_any_other_operation_it_refuses_and_nothing_is_deleted(cluster, operation):
    lifecycle.run(script('instantiate_start'))
    with pytest.raises(lifecycle.RefusedError) as refused:
        lifecycle.run(script(operation, metadata={'namespace': 'default'}))
    assert str(refused.value) == (
        f'The script for ResourceClaimTemplates has nothing to do at {operation}: name it in the '
        'VNFD at instantiate_start, change_current_package_start, instantiate_rollback_end, '
        'terminate_start only.')
    assert list(cluster.kept) == [('default', NAME)]


def test_other_numbers_under_the_same_name_are_refused(cluster, tmp_path):
    lifecycle.run(script('instantiate_start'))
    new = copied(tmp_path, **{"'30000'": "'20000'", ' 30000\n': ' 20000\n', '314572': '209715'})
    with pytest.raises(lifecycle.RefusedError, match='with other numbers, and never changes'):
        lifecycle.run(script('change_current_package_start', new, namespace='default'))


def test_a_package_that_contradicts_itself_is_refused(cluster, tmp_path):
    with pytest.raises(lifecycle.RefusedError, match='is 30000 here and 20000 in VDU VDU_RT'):
        lifecycle.run(script('instantiate_start', copied(tmp_path, **{"'30000'": "'20000'"})))
    assert cluster.kept == {}


def test_what_the_cluster_refuses_ends_the_operation(cluster):
    cluster.fails = 403
    with pytest.raises(client.ApiException):
        lifecycle.run(script('instantiate_start'))


def test_a_template_that_has_just_gone_is_no_failure(cluster):
    lifecycle.run(script('instantiate_start'))
    cluster.fails = 404
    lifecycle.run(script('terminate_start'))


def test_tacker_is_told_the_reason_of_a_failure(tmp_path):
    told = script('instantiate_start', copied(tmp_path, **{"'30000'": "'20000'"}))
    done = subprocess.run((sys.executable, PACKAGE / 'Scripts/claims.py'), check=False,
                          input=pickle.dumps(told), capture_output=True)
    assert done.returncode == 1
    assert done.stderr.decode().endswith('make them the same.')
