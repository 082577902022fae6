# SPDX-License-Identifier: Apache-2.0
"""The script around Tacker's operations. The cluster is a fake: it answers as one can."""

import copy
import pickle
import subprocess
import sys

from kubernetes import client
import pytest
import yaml

from tacker_rt import lifecycle
from tacker_rt import manifests
from tacker_rt import package as csar
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
            refused = client.ApiException(self.fails)
            refused.body = '{"message": "no right to do it"}'
            raise refused
        if (namespace, body['metadata']['name']) in self.kept:
            raise client.ApiException(409)
        self.kept[namespace, body['metadata']['name']] = copy.deepcopy(body)

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


def script(operation, package=PACKAGE, namespace=None, metadata=None, files=(MANIFEST,)):
    vnf = {'id': VNF, 'vimConnectionInfo': {'vim': {
        'interfaceInfo': {'endpoint': 'https://127.0.0.1:1'},
        'accessInfo': {'bearer_token': 'a'}}}}
    if metadata:
        vnf['instantiatedVnfInfo'] = {'metadata': metadata}
    given = {csar.FILES: list(files) if isinstance(files, tuple) else files}
    if namespace:
        given['namespace'] = namespace
    request = {'flavourId': 'simple', 'additionalParams': given}
    if operation == 'terminate_start':
        request = {}
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
    with pytest.raises(lifecycle.RefusedError, match='with another spec, and never changes'):
        lifecycle.run(script('change_current_package_start', new, namespace='default'))


def kept(cluster):
    """Return the devices of the one template in the cluster."""
    (body,) = cluster.kept.values()
    return body['spec']['spec']['devices']


def test_what_the_cluster_adds_to_a_template_does_not_change_it(cluster):
    lifecycle.run(script('instantiate_start'))
    devices = kept(cluster)
    devices['requests'][0]['exactly'] |= {'allocationMode': 'ExactCount', 'selectors': None}
    cluster.kept['default', NAME]['spec']['metadata'] = {}
    lifecycle.run(script('instantiate_start'))


@pytest.mark.parametrize('change', [
    lambda d: d['requests'][0]['exactly'].update(selectors=[{'cel': {'expression': 'true'}}]),
    lambda d: d['requests'].append({'name': 'gpu', 'exactly': {'deviceClassName': 'gpu'}}),
    lambda d: d['config'][0]['opaque']['parameters'].update({'cpu.rt_policy': 'rr'}),
    lambda d: d['constraints'].append({'matchAttribute': 'nova-rt.cpu/node'})])
def test_all_else_that_differs_under_the_same_name_is_refused(cluster, change):
    lifecycle.run(script('instantiate_start'))
    change(kept(cluster))
    with pytest.raises(lifecycle.RefusedError, match='is there already with another spec'):
        lifecycle.run(script('instantiate_start'))


def test_a_package_that_contradicts_itself_is_refused(cluster, tmp_path):
    with pytest.raises(lifecycle.RefusedError, match='is 30000 here and 20000 in VDU VDU_RT'):
        lifecycle.run(script('instantiate_start', copied(tmp_path, **{"'30000'": "'20000'"})))
    assert cluster.kept == {}


def test_what_the_cluster_refuses_ends_the_operation_with_its_reason(cluster):
    cluster.fails = 403
    with pytest.raises(lifecycle.RefusedError) as refused:
        lifecycle.run(script('instantiate_start'))
    assert str(refused.value) == (
        f'The cluster refuses to create the ResourceClaimTemplate {NAME}: no right to do it.')
    cluster.fails = None
    lifecycle.run(script('instantiate_start'))
    cluster.fails = 500
    with pytest.raises(lifecycle.RefusedError, match='The cluster refuses to delete the Res'):
        lifecycle.run(script('terminate_start', metadata={'namespace': 'default'}))


@pytest.mark.parametrize(('files', 'said'), [
    (MANIFEST, "lcm-kubernetes-def-files is 'Files/kubernetes/vnf.yaml': give a list of the "
     'names of files in the package.'),
    (None, 'lcm-kubernetes-def-files is None: give a list of the names of files in the package.'),
    *[([name], f'lcm-kubernetes-def-files has {name!r}, but the package has no such file: give '
       'its name in the package, such as Files/kubernetes/vnf.yaml.') for name in (
        'https://example.org/vnf.yaml', '/etc/passwd', '../vnf.yaml', 'Files', 5)]])
def test_what_is_no_file_of_the_package_is_refused_and_can_be_rolled_back(cluster, files, said):
    with pytest.raises(lifecycle.RefusedError) as refused:
        lifecycle.run(script('instantiate_start', files=files))
    assert str(refused.value) == said
    lifecycle.run(script('instantiate_rollback_end', files=files))


def test_a_manifest_is_the_one_that_the_request_names_whatever_its_suffix(cluster, tmp_path):
    new = copied(tmp_path, **{"'30000'": "'20000'"})
    (new / MANIFEST).rename(new / 'Files/vnf.yml')
    with pytest.raises(lifecycle.RefusedError, match='is 30000 here and 20000 in VDU VDU_RT'):
        lifecycle.run(script('instantiate_start', new, files=('Files/vnf.yml',)))
    assert cluster.kept == {}


def test_what_the_request_does_not_name_is_neither_compared_nor_created(cluster, tmp_path):
    new = copied(tmp_path)
    other = (new / MANIFEST).read_text().replace('30000', '20000').replace('314572', '209715')
    (new / 'Files/large.yaml').write_text(other)
    (new / 'Files/broken.yaml').write_text('kind: Deployment\n[')
    lifecycle.run(script('instantiate_start', new))
    assert list(cluster.kept) == [('default', NAME)]
    with pytest.raises(lifecycle.RefusedError, match=r'broken\.yaml:2: This is not valid YAML'):
        lifecycle.run(script('instantiate_start', new, files=('Files/broken.yaml',)))


def test_a_template_in_a_file_that_the_request_does_not_name_is_missed(cluster, tmp_path):
    new = copied(tmp_path)
    made, _, rest = (new / MANIFEST).read_text().partition('---\n')
    (new / MANIFEST).write_text(rest)
    (new / 'Files/templates.yaml').write_text(made)
    with pytest.raises(lifecycle.RefusedError, match=f'need the ResourceClaimTemplate {NAME}'):
        lifecycle.run(script('instantiate_start', new))
    lifecycle.run(script('instantiate_start', new, files=('Files/templates.yaml', MANIFEST)))
    assert list(cluster.kept) == [('default', NAME)]


def test_another_flavours_descriptor_is_not_compared(cluster, tmp_path):
    new = copied(tmp_path)
    small = (new / 'Definitions/df_simple.yaml').read_text()
    (new / 'Definitions/df_large.yaml').write_text(
        small.replace("'30000'", "'20000'").replace('flavour_id: simple', 'flavour_id: large'))
    lifecycle.run(script('instantiate_start', new))
    assert list(cluster.kept) == [('default', NAME)]


def test_a_descriptor_whose_flavour_is_an_input_is_compared(cluster, tmp_path):
    new = copied(tmp_path, **{
        "'30000'": "'20000'", 'flavour_id: simple': 'flavour_id: { get_input: flavour_id }'})
    with pytest.raises(lifecycle.RefusedError, match='is 30000 here and 20000 in VDU VDU_RT'):
        lifecycle.run(script('instantiate_start', new))


@pytest.mark.parametrize(('old', 'said'), [
    ("'30000'", 'The runtime of 200000 µs is longer than the period'),
    ('cpu.rt_runtime_us: ', 'cpu.rt_runtim_us')])
def test_a_descriptor_that_is_wrong_in_itself_is_refused(cluster, tmp_path, old, said):
    new = copied(tmp_path, **{old: "'200000'" if old == "'30000'" else 'cpu.rt_runtim_us: '})
    with pytest.raises(lifecycle.RefusedError, match=said):
        lifecycle.run(script('instantiate_start', new))
    assert cluster.kept == {}


def test_an_object_without_metadata_is_in_no_namespace(cluster, tmp_path):
    new = copied(tmp_path, **{'metadata:\n  name: plain\n': 'metadata:\n'})
    lifecycle.run(script('instantiate_start', new))
    assert list(cluster.kept) == [('default', NAME)]


def test_a_template_that_has_just_gone_is_no_failure(cluster):
    lifecycle.run(script('instantiate_start'))
    cluster.fails = 404
    lifecycle.run(script('terminate_start', metadata={'namespace': 'default'}))


def test_tacker_is_told_the_reason_of_a_failure(tmp_path):
    told = script('instantiate_start', copied(tmp_path, **{"'30000'": "'20000'"}))
    done = subprocess.run((sys.executable, PACKAGE / 'Scripts/claims.py'), check=False,
                          input=pickle.dumps(told), capture_output=True)
    assert done.returncode == 1
    assert done.stderr.decode().endswith('make them the same.')
