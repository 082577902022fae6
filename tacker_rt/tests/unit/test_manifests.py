# SPDX-License-Identifier: Apache-2.0
"""VDUs and Kubernetes manifests: held against each other, and translated."""

import copy

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import pytest
import yaml

from nova_rt import reservation
from tacker_rt import command
from tacker_rt import document
from tacker_rt import manifest_translation
from tacker_rt import manifests
from tacker_rt import problems
from tacker_rt import workloads
from tacker_rt.testing import packages
from tacker_rt.tests.unit.test_claims import any_claims

PACKAGE = packages.EXAMPLES / 'containers'
VNFD = (PACKAGE / 'Definitions/df_simple.yaml').read_text()
MANIFEST = (PACKAGE / 'Files/kubernetes/vnf.yaml').read_text()
TEMPLATE = 'ResourceClaimTemplate rt-30000-100000-2: '
DEPLOYMENT = 'vnf.yaml:33: Deployment rt: '


def descriptor(**vdus):
    """Return a descriptor with these VDUs, by their workloads: runtime, period, vCPUs."""
    return document.load('vnfd.yaml', yaml.safe_dump({'topology_template': {'node_templates': {
        f'VDU_{name}': {'properties': {'name': name}, 'capabilities': {'virtual_compute': {
            'properties': {'virtual_cpu': {
                'num_virtual_cpu': vcpus, 'vdu_cpu_requirements': {
                    'cpu.rt_runtime_us': str(runtime_us),
                    'cpu.rt_period_us': str(period_us)}}}}}}
        for name, (runtime_us, period_us, vcpus) in vdus.items()}}}))


def plain(name='rt', kind='Deployment'):
    """Return a workload whose pods have no claim."""
    pod = {'metadata': {'labels': {'app': name}},
           'spec': {'containers': [{'name': 'main'}, {'name': 'side'}]}}
    if kind == 'Pod':
        return {'kind': kind, **pod, 'metadata': {'name': name}}
    return {'kind': kind, 'metadata': {'name': name}, 'spec': {'replicas': 2, 'template': pod}}


def reports(vnfd=VNFD, manifest=MANIFEST):
    return [str(report) for report in manifests.validate(
        [document.load('df.yaml', vnfd)], document.load_all('vnf.yaml', manifest))]


def edited(text, **edits):
    for old, new in edits.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def test_the_example_contradicts_itself_nowhere():
    assert reports() == []


@pytest.mark.parametrize(('vnfd', 'manifest', 'said'), [
    ({"'30000'": "'20000'"}, {},
     ['vnf.yaml:27: ' + TEMPLATE + 'cpu.rt_runtime_us is 30000 here and 20000 in VDU VDU_RT of '
      'df.yaml: make them the same.']),
    ({"'100000'": "'200000'"}, {},
     ['vnf.yaml:28: ' + TEMPLATE + 'cpu.rt_period_us is 100000 here and 200000 in VDU VDU_RT of '
      'df.yaml: make them the same.']),
    ({'num_virtual_cpu: 2': 'num_virtual_cpu: 3'}, {},
     ['vnf.yaml:13: ' + TEMPLATE + 'The number of vCPUs (count) is 2 here '
      'and 3 in VDU VDU_RT of df.yaml: make them the same.']),
    ({}, {"'314572'": "'314573'"},
     ['vnf.yaml:16: ' + TEMPLATE + 'The request asks for a bandwidth of 314573, '
      'but 30000 µs every 100000 µs is 314572: give capacity.requests.bandwidth as '
      '(runtime << 20) / period, rounded down.']),
    ({}, {'required-plugins': 'some-plugins'},
     [DEPLOYMENT + 'Where the driver does not run, its containers would be created and ended '
      'again and again: to have them wait, give its pods the annotation '
      'required-plugins.noderesource.dev/pod: "[nova-rt]".']),
    ({}, {'              - name: rt\n': '              - name: other\n'},
     [DEPLOYMENT + '0 containers have the claim rt, which is for one: name it in '
      'resources.claims of one container.']),
    ({}, {'              - name: rt\n': '              - {name: rt, request: gpu}\n'},
     [DEPLOYMENT + '0 containers have the claim rt, which is for one: name it in '
      'resources.claims of one container, with the request vcpus or none.']),
    ({}, {'              - name: rt\n': '              - {name: rt, request: vcpus}\n'}, []),
    ({}, {'TemplateName: rt-30000-100000-2': 'TemplateName: lost'},
     [DEPLOYMENT + 'Its pods need the ResourceClaimTemplate lost, which none of the '
      'manifests has: add it; "tacker-rt claims" writes it.']),
    ({}, {'resourceClaims:': 'claims:'},
     [DEPLOYMENT + 'Its pods have 0 claims with a reservation, but VDU VDU_RT of df.yaml has '
      'one reservation: give them one claim; "tacker-rt claims" writes it.']),
    ({'name: rt\n': 'name: lost\n'}, {},
     ['df.yaml:55: VDU VDU_RT: The manifests have no Deployment, StatefulSet, DaemonSet, '
      'ReplicaSet or Pod named lost.']),
    ({'name: rt\n': 'name: plain\n', 'name: plain\n        description: A': (
        'name: rt\n        description: A')}, {},
     ['vnf.yaml:61: Deployment plain: Its pods have 0 claims with a reservation, but VDU VDU_RT '
      'of df.yaml has one reservation: give them one claim; "tacker-rt claims" writes it.',
      DEPLOYMENT + 'Its pods have a reservation, but VDU VDU_PLAIN of df.yaml has none: write it '
      'under virtual_cpu as vdu_cpu_requirements.']),
    ({"cpu.rt_runtime_us: '30000'": 'cpu.rt_runtime_us: { get_input: flavour_id }'}, {},
     ['df.yaml:55: VDU VDU_RT: cpu.rt_runtime_us is an input, which a manifest does not have: '
      'give the number.']),
    ({'num_virtual_cpu: 2': "num_virtual_cpu: '3'"}, {},
     ['vnf.yaml:13: ' + TEMPLATE + 'The number of vCPUs (count) is 2 here '
      'and 3 in VDU VDU_RT of df.yaml: make them the same.']),
    ({'num_virtual_cpu: 2': 'num_virtual_cpu: { get_input: flavour_id }'}, {},
     ['df.yaml:55: VDU VDU_RT: The number of vCPUs is an input, which a manifest does not '
      'have: give the number.']),
    ({"cpu.rt_period_us: '100000'": "cpu.rt_period_us: '100000'\n                "
      'cpu.rt_criticality: A'}, {},
     ['df.yaml:55: VDU VDU_RT: cpu.rt_criticality is for servers, and no manifest can say it: '
      'leave it out.']),
    ({"cpu.rt_period_us: '100000'": "cpu.rt_period_us: '100000'\n                "
      "cpu.rt_min_runtime_us: '10000'"}, {},
     ['df.yaml:55: VDU VDU_RT: cpu.rt_min_runtime_us is for servers, and no manifest can say it: '
      'leave it out.']),
])
def test_each_contradiction_is_one_sentence_that_names_file_and_object(vnfd, manifest, said):
    assert reports(edited(VNFD, **vnfd), edited(MANIFEST, **manifest)) == said


LARGE = {'rt-30000-100000-2': 'rt-20000-100000-2', '30000\n': '20000\n', '314572': '209715'}


def of_flavours(vnfds, texts):
    """Return the reports of manifests, one for each flavour, by the numbers of files."""
    return [str(report) for report in manifests.validate(
        [document.load(f'df{number}.yaml', vnfd) for number, vnfd in enumerate(vnfds)],
        [each for number, text in enumerate(texts)
         for each in document.load_all(f'vnf{number}.yaml', text)])]


def test_each_flavour_may_have_a_workload_of_the_same_name():
    large = edited(MANIFEST, **LARGE)
    other = edited(VNFD, **{"'30000'": "'20000'"})
    assert of_flavours([VNFD, other], [MANIFEST, large]) == []
    # Also if their templates have one name: each workload has that of its own file.
    same = edited(large, **{'rt-20000-100000-2': 'rt-30000-100000-2'})
    assert of_flavours([VNFD, other], [MANIFEST, same]) == []
    assert of_flavours([VNFD, other], [same, MANIFEST]) == []


def test_a_workload_that_agrees_with_no_vdu_of_its_name_is_reported_once():
    large = edited(MANIFEST, **LARGE)
    said = ('vnf1.yaml:27: ResourceClaimTemplate rt-20000-100000-2: cpu.rt_runtime_us is 20000 '
            'here and 30000 in VDU VDU_RT of df0.yaml: make them the same.')
    assert of_flavours([VNFD], [MANIFEST, large]) == [said]
    assert of_flavours([VNFD, VNFD], [MANIFEST, large]) == [said]


def test_a_vdu_that_agrees_with_no_workload_of_its_name_is_reported_once():
    other = edited(VNFD, **{"'30000'": "'20000'"})
    said = ('vnf0.yaml:27: ResourceClaimTemplate rt-30000-100000-2: cpu.rt_runtime_us is 30000 '
            'here and 20000 in VDU VDU_RT of df1.yaml: make them the same.')
    assert of_flavours([VNFD, other], [MANIFEST]) == [said]
    assert of_flavours([VNFD, other], [MANIFEST, MANIFEST]) == [said]


def test_where_a_device_is_every_pcpu_the_number_of_vcpus_is_not_compared():
    manifest = edited(MANIFEST, **{'rt-pcpu': 'rt-every-pcpu', 'count: 2': 'count: 1'})
    assert reports(manifest=manifest) == []


def test_a_package_without_workloads_is_not_of_containers():
    assert reports(manifest=MANIFEST.split('---')[0]) == []


def test_the_command_reports_a_contradiction_in_a_directory_and_in_a_csar(tmp_path, capsys):
    target = tmp_path / 'a.csar'
    packages.build('containers', target, {"'30000'": "'20000'"})
    assert command.main(['validate', str(target)]) == 1
    assert ('a.csar/Files/kubernetes/vnf.yaml:27: ResourceClaimTemplate rt-30000-100000-2: '
            'cpu.rt_runtime_us is 30000 here and 20000 in VDU VDU_RT of '
            ) in capsys.readouterr().out
    assert command.main(['validate', str(PACKAGE)]) == 0


@given(wanted=strategies.dictionaries(
    strategies.sampled_from(['a', 'b', 'c-d']),
    any_claims().map(lambda claim: claim.reserved), min_size=1),
    kinds=strategies.lists(strategies.sampled_from(workloads.KINDS), min_size=3, max_size=3))
@settings(deadline=None, max_examples=25)
def test_from_vdus_to_claims_and_back_no_number_changes(wanted, kinds):
    vdus = {name: (each.runtime_us, each.period_us, each.vcpus)
            for name, each in wanted.items()}
    source = descriptor(**vdus)
    made = manifest_translation.to_claims(
        source, [plain(name, kind) for name, kind in zip(vdus, kinds, strict=False)])
    text = yaml.safe_dump_all(made)
    assert list(manifests.validate([source], document.load_all('made.yaml', text))) == []
    back = document.load('back.yaml', yaml.safe_dump({'topology_template': {
        'node_templates': manifest_translation.to_vdus(yaml.safe_load_all(text))}}))
    assert {vdu.workload: vdu.reservation() for vdu in manifests.vdus(back)} == wanted


def test_translating_again_changes_nothing():
    source = descriptor(rt=(30_000, 100_000, 2))
    once = manifest_translation.to_claims(source, [plain()])
    assert manifest_translation.to_claims(source, once) == once


def test_other_numbers_make_another_template_which_keeps_the_policy():
    old = manifest_translation.to_claims(descriptor(rt=(30_000, 100_000, 2)), [plain()])
    parameters = old[0]['spec']['spec']['devices']['config'][0]['opaque']['parameters']
    parameters |= {'cpu.rt_policy': 'rr', 'cpu.rt_priority': 7}
    new = manifest_translation.to_claims(descriptor(rt=(20_000, 100_000, 2)), old)
    assert [each['metadata']['name'] for each in new] == ['rt-20000-100000-2', 'rt']
    parameters = new[0]['spec']['spec']['devices']['config'][0]['opaque']['parameters']
    assert (parameters['cpu.rt_runtime_us'], parameters['cpu.rt_policy'],
            parameters['cpu.rt_priority']) == (20_000, 'rr', 7)
    assert workloads.templates(new[1]['spec']['template']) == {'rt': 'rt-20000-100000-2'}


def test_other_claims_and_plugins_of_a_pod_stay():
    workload = plain()
    pod = workload['spec']['template']
    pod['metadata']['annotations'] = {workloads.ANNOTATION: '[other]', 'mine': 'too'}
    pod['spec']['resourceClaims'] = [{'name': 'rt', 'resourceClaimName': 'gpu'}]
    pod['spec']['containers'][0]['resources'] = {'claims': [{'name': 'rt'}]}
    before = copy.deepcopy(workload)
    pod = workloads.with_claim(workload, 'half')['spec']['template']
    assert workload == before
    assert pod['metadata']['annotations'] == {
        workloads.ANNOTATION: '[other, nova-rt]', 'mine': 'too'}
    assert pod['spec']['resourceClaims'] == [
        {'name': 'rt', 'resourceClaimName': 'gpu'},
        {'name': 'rt1', 'resourceClaimTemplateName': 'half'}]
    assert workloads.users(pod, 'rt1') == ['main']
    gone = workloads.without_claims({'kind': 'Pod', **pod}, ['half'])
    assert workloads.users(gone, 'rt') == ['main']
    assert workloads.users(gone, 'rt1') == []


NULLS = [
    ("annotations:\n        required-plugins.noderesource.dev/pod: '[nova-rt]'", 'annotations:'),
    ("metadata:\n      labels: { app: rt }\n      annotations:\n        "
     "required-plugins.noderesource.dev/pod: '[nova-rt]'", 'metadata:'),
    ('resources:\n            claims:\n              - name: rt\n            limits:\n'
     '              memory: 64Mi', 'resources:'),
    ('claims:\n              - name: rt', 'claims:'),
    ('resourceClaims:\n        - name: rt\n          resourceClaimTemplateName: '
     'rt-30000-100000-2', 'resourceClaims:'),
    ('resourceClaims:\n', 'resourceClaims:\n        - foo\n'),
]


@pytest.mark.parametrize(('old', 'new'), NULLS)
def test_null_is_as_good_as_nothing_and_translation_completes_it(old, new):
    manifest = edited(MANIFEST, **{old: new})
    assert len(reports(manifest=manifest)) == ('foo' not in new)
    source = document.load('df.yaml', VNFD)
    made = manifest_translation.to_claims(source, list(yaml.safe_load_all(manifest)))
    assert reports(manifest=yaml.safe_dump_all(made)) == []
    manifest_translation.to_vdus(yaml.safe_load_all(manifest))


@pytest.mark.parametrize(('old', 'new', 'said'), [
    ('containers:\n        - name: main\n          image: busybox\n          command: '
     '[sleep, infinity]\n          resources', 'containers: 5\n      x:\n        - resources',
     None),
    ('resourceClaims:\n', 'resourceClaims: 5\n      x:\n', 'resourceClaims is 5: give a list.'),
    ('claims:\n              -', 'claims: 5\n            x:\n              -',
     'claims is 5: give a list.'),
    ('annotations:\n        req', 'annotations: 5\n      x:\n        req',
     'annotations is 5: give a map.'),
])
def test_what_kubernetes_would_refuse_is_told_in_a_sentence(
        old, new, said, tmp_path, capsys):
    manifest = edited(MANIFEST, **{old: new})
    assert len(reports(manifest=manifest)) == 1
    for name, text in (('df.yaml', VNFD), ('a.yaml', manifest)):
        (tmp_path / name).write_text(text)
    status = command.main(['claims', str(tmp_path / 'df.yaml'), str(tmp_path / 'a.yaml')])
    assert status == (1 if said else 0)
    assert (said or '') in capsys.readouterr().err
    command.main(['vdus', str(tmp_path / 'a.yaml')])


@pytest.mark.parametrize('name', ['metadata:\n  labels: {}', 'metadata:', 'metadata: 5'])
def test_a_template_without_a_name_is_reported(name):
    manifest = edited(MANIFEST, **{'metadata:\n  name: rt-30000-100000-2': name})
    assert reports(manifest=manifest)[0] == (
        'vnf.yaml:4: ResourceClaimTemplate: It has no name: give it one.')


def test_a_template_of_another_version_is_told_so():
    manifest = edited(MANIFEST, **{'resource.k8s.io/v1\n': 'resource.k8s.io/v1beta1\n'})
    assert reports(manifest=manifest) == [
        "vnf.yaml:2: ResourceClaimTemplate rt-30000-100000-2: It is of the version "
        "'resource.k8s.io/v1beta1', which is not read: write it as resource.k8s.io/v1."]
    with pytest.raises(reservation.InvalidReservationError, match='which is not read'):
        manifest_translation.to_vdus(yaml.safe_load_all(manifest))


@pytest.mark.parametrize('version', ['example.org/v1', 'v1', '5', ''])
def test_a_kind_of_that_name_in_another_group_is_no_template(version):
    manifest = edited(MANIFEST, **{'resource.k8s.io/v1\n': f'{version}\n'})
    assert reports(manifest=manifest) == [
        DEPLOYMENT + 'Its pods need the ResourceClaimTemplate rt-30000-100000-2, which none of '
        'the manifests has: add it; "tacker-rt claims" writes it.']


def test_more_vcpus_than_a_claim_has_are_refused_in_the_descriptor():
    with pytest.raises(problems.InvalidDescriptorError, match='VDU_rt: The request has 33 vCPUs'):
        manifest_translation.to_claims(descriptor(rt=(30_000, 100_000, 33)))


def test_the_commands_translate_both_ways(tmp_path, capsys):
    vnfd = str(PACKAGE / 'Definitions/df_simple.yaml')
    assert command.main(['claims', vnfd, str(PACKAGE / 'Files/kubernetes/vnf.yaml')]) == 0
    made = capsys.readouterr().out
    assert list(yaml.safe_load_all(made)) == list(yaml.safe_load_all(MANIFEST))
    file = tmp_path / 'made.yaml'
    file.write_text(made)
    assert command.main(['vdus', str(file)]) == 0
    node = yaml.safe_load(capsys.readouterr().out)['rt']
    known = yaml.safe_load(VNFD)['topology_template']['node_templates']['VDU_RT']
    assert node['capabilities'] == known['capabilities']


def test_the_commands_refuse_in_a_sentence(tmp_path, capsys):
    file = tmp_path / 'a.yaml'
    file.write_text(MANIFEST.split('---')[2])
    assert command.main(['vdus', str(file)]) == 1
    assert capsys.readouterr().err == (
        'tacker-rt: No pod of these manifests has a claim with a reservation.\n')
    file.write_text(MANIFEST.replace('314572', '1'))
    assert command.main(['vdus', str(file)]) == 1
    assert 'ResourceClaimTemplate rt-30000-100000-2: The request asks' in capsys.readouterr().err
    file.write_text(VNFD.replace("'30000'", "'1'"))
    assert command.main(['claims', str(file)]) == 1
    assert 'cpu.rt_runtime_us is 1 µs' in capsys.readouterr().err
    assert command.main(['claims', str(tmp_path)]) == 2
