# SPDX-License-Identifier: Apache-2.0
"""Reservations in heat-translator and in Tacker's translation, unmodified."""

from pathlib import Path
import subprocess
import sys
import textwrap
from unittest import mock

import pytest
from toscaparser import tosca_template
from translator.hot import tosca_translator
import yaml

from nova_rt import reservation
from tacker_rt import profile

TOSCA = Path(__file__).parents[3] / 'tosca'
TYPES = Path(profile.__file__).parent / profile.DEFINITIONS
TIMES = {'cpu.rt_runtime_us': 60000, 'cpu.rt_period_us': 100000}


def descriptor(vdu, head='', more=''):
    """Return a template of the plain profile, with our types imported."""
    return (f'tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n'
            f'imports: [{TYPES}]\n{textwrap.dedent(head)}'
            'topology_template:\n'
            f'{textwrap.indent(textwrap.dedent(more), "  ")}'
            f'  node_templates:\n'
            f'{textwrap.indent(textwrap.dedent(vdu), " " * 4)}')


def translated(text, given=None):
    """Return the main template that heat-translator makes."""
    parsed = tosca_template.ToscaTemplate(
        parsed_params=given or {}, a_file=False,
        yaml_dict_tpl=yaml.safe_load(text))
    return yaml.safe_load(tosca_translator.TOSCATranslator(
        parsed, given or {}).translate_to_yaml_files_dict('main')['main'])


RESERVING = '''\
    VDU:
      type: tosca.nodes.nfv.VDU.Tacker
      properties:
        flavor: small
      capabilities:
        nfv_compute:
          properties:
            cpu_allocation:
              cpu.rt_runtime_us: 60000
              cpu.rt_period_us: 100000
    '''


def test_the_heat_translator_command_honours_the_papers_descriptor(tmp_path):
    path = tmp_path / 'vnf.yaml'
    path.write_text(
        f'tosca_definitions_version: {profile.VERSION}\n'
        + (TOSCA / 'paper' / 'cpu_allocation.yaml').read_text())
    output = tmp_path / 'hot.yaml'
    done = subprocess.run(
        [Path(sys.executable).with_name('heat-translator'),
         '--template-file', path, '--output-file', output],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    resources = yaml.safe_load(output.read_text())['resources']
    assert resources['VDU_A']['properties']['scheduler_hints'] == TIMES
    assert resources['VDU_A_flavor']['properties'] == {
        'vcpus': 4, 'ram': 4096, 'disk': 20}


def test_tackers_own_translation_honours_a_reservation():
    from tacker.vnfm.infra_drivers.openstack import translate_template
    translation = translate_template.TOSCAToHOT(
        {'attributes': {}}, mock.Mock())
    translation.fields = {}
    # It looks for ETSI's types in its source tree, and finds none elsewhere.
    with mock.patch.object(translate_template.toscautils,
                           'tosca_tmpl_local_defs', return_value={}):
        translation._generate_hot_from_tosca(
            yaml.safe_load(descriptor(RESERVING)), {})
    server = yaml.safe_load(translation.heat_template_yaml)[
        'resources']['VDU']
    assert server['properties']['scheduler_hints'] == TIMES


def test_a_vdu_that_asks_for_nothing_is_translated_as_ever():
    found = translated(descriptor('''\
        VDU:
          type: tosca.nodes.nfv.VDU.Tacker
          capabilities:
            nfv_compute:
              properties:
                num_cpus: 2
        '''))
    assert found['resources'] == {'VDU': {
        'type': 'OS::Nova::Server', 'properties': {
            'flavor': None, 'user_data_format': 'SOFTWARE_CONFIG'}}}


def test_a_placement_policy_keeps_its_hint_beside_ours():
    found = translated(descriptor(RESERVING) + textwrap.indent(
        textwrap.dedent('''\
        policies:
          - near:
              type: tosca.policies.Placement
              targets: [VDU]
        '''), '  '))
    hints = found['resources']['VDU']['properties']['scheduler_hints']
    assert hints == {**TIMES, 'group': {'get_resource': 'near'}}


def test_a_reservation_that_a_type_has_as_default_is_honoured():
    found = translated(descriptor('''\
        VDU:
          type: example.VDU
          properties:
            flavor: small
        ''', head='''\
        node_types:
          example.VDU:
            derived_from: tosca.nodes.nfv.VDU.Tacker
            properties:
              scheduler_hints:
                type: map
                default:
                  cpu.rt_runtime_us: 60000
                  cpu.rt_period_us: 100000
        '''))
    properties = found['resources']['VDU']['properties']
    assert properties['scheduler_hints'] == TIMES


@pytest.mark.parametrize('given', [None, {'runtime': 30000}])
def test_an_input_becomes_a_parameter_with_the_value_given(given):
    found = translated(descriptor(
        RESERVING.replace('60000', '{ get_input: runtime }'),
        more='''\
          inputs:
            runtime:
              type: integer
              default: 60000
        '''), given)
    assert found['parameters']['runtime']['default'] == (
        given['runtime'] if given else 60000)
    hints = found['resources']['VDU']['properties']['scheduler_hints']
    assert hints['cpu.rt_runtime_us'] == {'get_param': 'runtime'}


def test_what_cannot_be_is_refused_by_name_of_the_vdu():
    with pytest.raises(reservation.InvalidReservationError, match=(
            r'topology_template\.node_templates\.VDU\..*longer than')):
        translated(descriptor(RESERVING.replace('60000', '200000')))


def test_the_extension_is_what_toscaparser_loads():
    from toscaparser.extensions.exttools import ExtTools
    tools = ExtTools()
    assert profile.VERSION in tools.get_versions()
    assert Path(tools.get_defs_file(profile.VERSION)).samefile(TYPES)
