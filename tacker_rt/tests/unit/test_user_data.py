# SPDX-License-Identifier: Apache-2.0
"""Our user data on Tacker's own classes, on the packages in tosca/packages."""

import copy
from pathlib import Path
import pickle
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from nova_rt import reservation
from tacker_rt import template_hints
from tacker_rt import user_data

PACKAGES = Path(__file__).parents[3] / 'tosca' / 'packages'
GRANT = {'id': 'grant'}
HINTS = {'cpu.rt_runtime_us': 30000, 'cpu.rt_period_us': 100000}


def compute(*vdus):
    return [{'id': f'add-{number}', 'type': 'COMPUTE',
             'resourceTemplateId': vdu} for number, vdu in enumerate(vdus)]


def request(**more):
    return {'flavourId': 'simple', **more}


def instance(nfv=None, vnfcs=()):
    """Return a VNF as Tacker's database has it after an operation."""
    return {'vnfdId': 'vnfd', 'instantiatedVnfInfo': {
        'flavourId': 'simple', 'metadata': {'nfv': nfv or {}},
        'vnfcResourceInfo': [
            {'id': f'{vdu}-{index}', 'vduId': vdu,
             'computeResource': {'resourceId': f'{vdu}-{index}'},
             'metadata': {'vdu_idx': index, 'flavor': 'vnf'}}
            for vdu, index in vnfcs]}}


def package(name, tmp_path, change=None):
    """Return a copy of a package, with a change to its deployment flavour."""
    copied = tmp_path / name
    shutil.copytree(PACKAGES / name, copied, dirs_exist_ok=True)
    path = copied / 'Definitions' / 'df_simple.yaml'
    if change:
        flavour = yaml.safe_load(path.read_text())
        change(flavour['topology_template'])
        path.write_text(yaml.safe_dump(flavour))
    return str(copied)


def requirements(topology):
    node = topology['node_templates']['VDU_RT']
    return node['capabilities']['virtual_compute']['properties'][
        'virtual_cpu']['vdu_cpu_requirements']


def hints_in(fields, vdu):
    """Return the hints of a VDU's server, in its nested file if it has one."""
    nested = {re.split('[-.]', name)[0]: text for name, text in fields['files'].items()}
    template = yaml.safe_load(nested.get(vdu, fields['template']))
    return template['resources'][vdu]['properties'].get('scheduler_hints')


def test_a_vdu_named_like_a_server_of_another_s_gets_no_hints_of_it():
    template = {'resources': {name: {'type': 'OS::Nova::Server'}
                              for name in ('web', 'web-0', 'web-1')}}
    assert template_hints.add_hints([template], {'web': HINTS}, {'web', 'web-1'}) == {'web'}
    assert [name for name, server in template['resources'].items()
            if 'properties' in server] == ['web', 'web-0']


@pytest.fixture(autouse=True)
def _traceback_limit():
    yield
    if hasattr(sys, 'tracebacklimit'):
        del sys.tracebacklimit


def instantiate(name, csar_dir, **params):
    grant_req = {'operation': 'INSTANTIATE',
                 'addResources': compute('VDU_RT', 'VDU_PLAIN')}
    return getattr(user_data, f'{name.capitalize()}UserData').instantiate(
        request(additionalParams=params), {'vnfdId': 'vnfd'}, grant_req,
        GRANT, csar_dir)


def test_the_standard_class_gives_the_reservation_to_its_vdu_only(tmp_path):
    fields = instantiate('standard', package('standard', tmp_path))
    assert hints_in(fields, 'VDU_RT') == HINTS
    assert hints_in(fields, 'VDU_PLAIN') is None
    assert set(yaml.safe_load(fields['template'])['resources']) == {
        'VDU_RT-0', 'VDU_PLAIN-0', 'inside', 'inside_subnet'}


def test_the_default_class_takes_an_input_from_its_default(tmp_path):
    fields = instantiate('default', package('default', tmp_path))
    assert hints_in(fields, 'VDU_RT') == {
        'cpu.rt_runtime_us': 20000, 'cpu.rt_period_us': 100000}
    assert hints_in(fields, 'VDU_PLAIN') is None


def test_an_input_of_the_request_overrides_its_default(tmp_path):
    fields = instantiate(
        'default', package('default', tmp_path), runtime_us='50000')
    assert hints_in(fields, 'VDU_RT')['cpu.rt_runtime_us'] == 50000


def test_a_criticality_reaches_the_server_and_may_be_an_input(tmp_path):
    def add(topology):
        given = topology['node_templates']['VDU_RT']['capabilities']['virtual_compute'][
            'properties']['requested_additional_capabilities']['real_time']
        given['target_performance_parameters']['cpu.rt_criticality'] = {'get_input': 'letter'}
        topology['inputs']['letter'] = {'type': 'string', 'default': 'A'}
    csar_dir = package('default', tmp_path, add)
    for params, letter in (({}, 'A'), ({'letter': 'B'}, 'B')):
        fields = instantiate('default', csar_dir, **params)
        assert hints_in(fields, 'VDU_RT')['cpu.rt_criticality'] == letter
    with pytest.raises(reservation.InvalidReservationError,
                       match="letter is 'D': give one of A, B, C"):
        instantiate('default', csar_dir, letter='D')


def test_an_input_outside_the_limits_is_refused(tmp_path):
    with pytest.raises(reservation.InvalidReservationError,
                       match='runtime of 200000 µs is longer'):
        instantiate('default', package('default', tmp_path),
                    runtime_us='200000')


def test_an_input_without_a_value_is_refused(tmp_path):
    csar_dir = package('default', tmp_path, lambda topology: topology[
        'inputs']['runtime_us'].pop('default'))
    with pytest.raises(reservation.InvalidReservationError,
                       match="'runtime_us' has no value"):
        instantiate('default', csar_dir)


def test_hints_that_the_package_has_already_are_kept(tmp_path):
    csar_dir = package('standard', tmp_path)
    path = Path(csar_dir, 'BaseHOT/simple/nested/VDU_RT.yaml')
    template = yaml.safe_load(path.read_text())
    properties = template['resources']['VDU_RT']['properties']
    properties['scheduler_hints'] = {'group': 'near'}
    path.write_text(yaml.safe_dump(template))
    fields = instantiate('standard', csar_dir)
    assert hints_in(fields, 'VDU_RT') == {**HINTS, 'group': 'near'}


@pytest.mark.parametrize(('given', 'sentence'), [
    ({'cpu.rt_runtime_us': 1000}, 'give it once'),
    ({'get_param': 'hints'}, 'write the hints out')])
def test_hints_of_the_package_that_clash_are_refused(
        tmp_path, given, sentence):
    csar_dir = package('standard', tmp_path)
    path = Path(csar_dir, 'BaseHOT/simple/nested/VDU_RT.yaml')
    template = yaml.safe_load(path.read_text())
    template['resources']['VDU_RT']['properties']['scheduler_hints'] = given
    path.write_text(yaml.safe_dump(template))
    with pytest.raises(reservation.InvalidReservationError, match=sentence):
        instantiate('standard', csar_dir)


def test_a_vdu_without_a_server_in_the_package_is_refused(tmp_path):
    csar_dir = package('standard', tmp_path)
    path = Path(csar_dir, 'BaseHOT/simple/nested/VDU_RT.yaml')
    path.write_text(path.read_text().replace('  VDU_RT:', '  OTHER:'))
    with pytest.raises(reservation.InvalidReservationError,
                       match='no OS::Nova::Server of this name'):
        instantiate('standard', csar_dir)


def test_a_mistyped_name_is_refused_by_what_was_meant(tmp_path):
    def mistype(topology):
        given = requirements(topology)
        given['cpu.rt_runtim_us'] = given.pop('cpu.rt_runtime_us')
    with pytest.raises(reservation.InvalidReservationError,
                       match=r'write cpu\.rt_runtime_us'):
        instantiate('standard', package('standard', tmp_path, mistype))


def test_scaling_out_keeps_the_files_that_have_the_hints(tmp_path):
    grant_req = {'operation': 'SCALE', 'addResources': compute('VDU_RT')}
    fields = user_data.StandardUserData.scale(
        {'type': 'SCALE_OUT'}, instance(vnfcs=[('VDU_RT', 0)]), grant_req,
        GRANT, package('standard', tmp_path))
    assert set(yaml.safe_load(fields['template'])['resources']) == {
        'VDU_RT-1', 'inside', 'inside_subnet'}
    assert 'files' not in fields


def test_scaling_out_gives_hints_to_servers_that_are_not_nested(tmp_path):
    csar_dir = package('standard', tmp_path)
    base = Path(csar_dir, 'BaseHOT/simple/base.yaml')
    template = yaml.safe_load(base.read_text())
    template['resources']['VDU_RT'] = {
        'type': 'OS::Nova::Server', 'properties': {
            'flavor': {'get_param': ['nfv', 'VDU', 'VDU_RT',
                                     'computeFlavourId']}}}
    base.write_text(yaml.safe_dump(template))
    grant_req = {'operation': 'SCALE', 'addResources': compute('VDU_RT')}
    fields = user_data.StandardUserData.scale(
        {'type': 'SCALE_OUT'}, instance(vnfcs=[('VDU_RT', 0)]), grant_req,
        GRANT, csar_dir)
    server = yaml.safe_load(fields['template'])['resources']['VDU_RT-1']
    assert server['properties']['scheduler_hints'] == HINTS


def test_scaling_in_names_the_server_to_remove(tmp_path):
    grant_req = {'operation': 'SCALE', 'removeResources': [
        {'type': 'COMPUTE', 'resourceTemplateId': 'VDU_RT',
         'resource': {'resourceId': 'VDU_RT-1'}}]}
    fields = user_data.StandardUserData.scale(
        {'type': 'SCALE_IN'},
        instance(vnfcs=[('VDU_RT', 0), ('VDU_RT', 1)]), grant_req, GRANT,
        package('standard', tmp_path))
    assert yaml.safe_load(fields['template']) == {
        'resources': {'VDU_RT-1': None}}


def operations(csar_dir):
    """Return the fields of all operations of the standard class that have a template."""
    first = instantiate('standard', csar_dir)
    nfv = first['parameters']['nfv']
    return [
        first, changed('standard', csar_dir, nfv),
        changed('standard', csar_dir, nfv, rollback=True),
        user_data.StandardUserData.scale(
            {'type': 'SCALE_OUT'}, instance(vnfcs=[('VDU_RT', 0)]),
            {'operation': 'SCALE', 'addResources': compute('VDU_RT', 'VDU_PLAIN')},
            GRANT, csar_dir)]


def types(fields):
    """Return the types of the VDUs' resources, by VDU."""
    return {name.partition('-')[0]: resource['type'] for name, resource in yaml.safe_load(
        fields['template'])['resources'].items() if name.startswith('VDU')}


def test_tacker_takes_no_hints_out_of_templates_that_have_a_reservation(tmp_path):
    # It does so by the name, in a rolling change, and puts them back at the end.
    for fields in operations(package('standard', tmp_path)):
        assert types(fields) == {
            'VDU_RT': 'VDU_RT-100000-30000.template', 'VDU_PLAIN': 'VDU_PLAIN.yaml'}
        assert set(fields.get('files', {})) in (
            set(), {'VDU_RT-100000-30000.template', 'VDU_PLAIN.yaml'})


def test_templates_without_a_reservation_keep_their_names(tmp_path):
    csar_dir = package('standard', tmp_path, lambda topology: requirements(
        topology).clear())
    for fields in operations(csar_dir):
        assert set(types(fields).values()) == {'VDU_RT.yaml', 'VDU_PLAIN.yaml'}


def test_templates_inside_nested_ones_are_found_by_their_new_names(tmp_path):
    csar_dir = package('standard', tmp_path)
    nested = Path(csar_dir, 'BaseHOT/simple/nested')
    (nested / 'VDU_RT.yaml').rename(nested / 'INNER.yaml')
    (nested / 'VDU_RT.yaml').write_text(yaml.safe_dump({
        'heat_template_version': '2013-05-23', 'resources': {'group': {
            'type': 'OS::Heat::AutoScalingGroup', 'properties': {
                'resource': {'type': 'INNER.yaml'}}}}}))
    files = instantiate('standard', csar_dir)['files']
    inner = 'INNER-100000-30000.template'
    assert set(files) == {'VDU_RT.yaml', inner, 'VDU_PLAIN.yaml'}
    assert yaml.safe_load(files['VDU_RT.yaml'])['resources']['group'][
        'properties']['resource'] == {'type': inner}


def test_a_template_with_hints_of_its_own_is_left_alone_by_tacker_too(tmp_path):
    csar_dir = package('standard', tmp_path, lambda topology: requirements(
        topology).clear())
    path = Path(csar_dir, 'BaseHOT/simple/nested/VDU_RT.yaml')
    template = yaml.safe_load(path.read_text())
    template['resources']['VDU_RT']['properties']['scheduler_hints'] = HINTS
    path.write_text(yaml.safe_dump(template))
    for fields in operations(csar_dir):
        assert types(fields) == {
            'VDU_RT': 'VDU_RT.template', 'VDU_PLAIN': 'VDU_PLAIN.yaml'}


def test_scaling_out_uses_the_template_that_the_stack_has(tmp_path):
    # Whatever value this request gives the input.
    def with_input(topology):
        requirements(topology)['cpu.rt_runtime_us'] = {'get_input': 'runtime_us'}
        topology['inputs'] = {'runtime_us': {'type': 'integer', 'default': 10_000}}
    csar_dir = package('standard', tmp_path, with_input)
    nfv = instantiate('standard', csar_dir, runtime_us=20_000)['parameters']['nfv']
    fields = user_data.StandardUserData.scale(
        {'type': 'SCALE_OUT', 'additionalParams': {'runtime_us': 40_000}},
        instance(nfv, [('VDU_RT', 0)]), {
            'operation': 'SCALE', 'addResources': compute('VDU_RT')}, GRANT, csar_dir)
    assert types(fields) == {'VDU_RT': 'VDU_RT-100000-20000.template'}


@pytest.mark.parametrize('name', ['standard', 'default'])
def test_healing_changes_no_template(tmp_path, name):
    kind = getattr(user_data, f'{name.capitalize()}UserData')
    fields = kind.heal({}, instance(), {
        'operation': 'HEAL', 'removeResources': []}, GRANT,
        package(name, tmp_path))
    assert set(fields) == {'parameters'}


def changed(name, csar_dir, nfv, rollback=False):
    kind = getattr(user_data, f'{name.capitalize()}UserData')
    method = kind.change_vnfpkg_rollback if rollback else kind.change_vnfpkg
    vnfcs = [('VDU_RT', 0), ('VDU_PLAIN', 0)]
    return method(
        {}, instance(copy.deepcopy(nfv), vnfcs),
        {'operation': 'CHANGE_VNFPKG', 'dstVnfdId': 'new',
         'removeResources': []}, GRANT, csar_dir)


@pytest.mark.parametrize('name', ['standard', 'default'])
def test_a_changed_package_brings_its_own_reservation(tmp_path, name):
    old = instantiate(name, package(name, tmp_path))['parameters']['nfv']

    def more(topology):
        text = yaml.safe_dump(topology).replace("'100000'", "'200000'")
        topology.update(yaml.safe_load(text))
    fields = changed(name, package(name, tmp_path, more), old)
    assert hints_in(fields, 'VDU_RT')['cpu.rt_period_us'] == 200000
    assert hints_in(fields, 'VDU_PLAIN') is None


def test_an_input_given_at_instantiation_holds_in_later_operations(tmp_path):
    csar_dir = package('default', tmp_path)
    old = instantiate('default', csar_dir, runtime_us=50000)
    fields = changed('default', csar_dir, old['parameters']['nfv'])
    assert hints_in(fields, 'VDU_RT')['cpu.rt_runtime_us'] == 50000


def test_a_changed_package_without_a_reservation_takes_it_away(tmp_path):
    old = instantiate('default', package('default', tmp_path))

    def without(topology):
        node = topology['node_templates']['VDU_RT']
        del node['capabilities']['virtual_compute']['properties'][
            'requested_additional_capabilities']['real_time']
    fields = changed('default', package('default', tmp_path, without),
                     old['parameters']['nfv'])
    assert hints_in(fields, 'VDU_RT') is None
    # What Tacker merges as a JSON merge patch.
    assert fields['parameters']['nfv']['reservations'] == {'VDU_RT': None}


@pytest.mark.parametrize('name', ['standard', 'default'])
def test_a_rollback_brings_the_old_reservation_back(tmp_path, name):
    csar_dir = package(name, tmp_path)
    old = instantiate(name, csar_dir)
    fields = changed(name, csar_dir, old['parameters']['nfv'], rollback=True)
    assert hints_in(fields, 'VDU_RT') == hints_in(old, 'VDU_RT')


def test_a_package_without_reservations_gives_what_tacker_gives(tmp_path):
    csar_dir = package('standard', tmp_path, lambda topology: requirements(
        topology).clear())
    theirs = user_data.userdata_standard.StandardUserData
    arguments = (request(), {'vnfdId': 'vnfd'}, {
        'operation': 'INSTANTIATE',
        'addResources': compute('VDU_RT', 'VDU_PLAIN')}, GRANT, csar_dir)
    assert (user_data.StandardUserData.instantiate(*arguments)
            == theirs.instantiate(*arguments))


def run_as_tacker_does(csar_dir, params):
    """Run the program in which Tacker runs user data."""
    from tacker.sol_refactored.infra_drivers.openstack import userdata_main
    return subprocess.run(
        [sys.executable, userdata_main.__file__], input=pickle.dumps({
            'request': request(additionalParams={
                'lcm-operation-user-data': 'tacker_rt/user_data.py',
                'lcm-operation-user-data-class': 'DefaultUserData',
                **params}),
            'vnf_instance': {'vnfdId': 'vnfd'},
            'grant_request': {'operation': 'INSTANTIATE',
                              'addResources': []},
            'grant_response': GRANT, 'tmp_csar_dir': csar_dir,
            'is_rollback': False}), capture_output=True, check=False)


def test_tacker_finds_the_class_where_it_is_installed(tmp_path):
    done = run_as_tacker_does(package('default', tmp_path), {})
    assert done.returncode == 0, done.stderr
    assert hints_in(pickle.loads(done.stdout), 'VDU_RT')


def test_tacker_reports_a_refusal_as_a_sentence_only(tmp_path):
    done = run_as_tacker_does(
        package('default', tmp_path), {'runtime_us': 'much'})
    assert done.returncode == 1
    last = done.stderr.decode().splitlines()
    assert 'File' not in done.stderr.decode()
    assert "runtime_us is 'much': give a whole number" in last[-1]
