# SPDX-License-Identifier: Apache-2.0
"""tacker-rt as a user runs it."""

from pathlib import Path
import shutil
import subprocess
import sys
import textwrap
import zipfile

import pytest

from tacker_rt import command
from tacker_rt import hot
from tacker_rt.tests import outcome

PACKAGES = Path(__file__).parents[3] / 'tosca' / 'packages'
WRONG = textwrap.dedent('''\
    topology_template:
      inputs:
        runtime:
          type: integer
          default: 500000
      node_templates:
        A:
          type: tosca.nodes.nfv.VDU.Tacker
          capabilities:
            nfv_compute:
              properties:
                cpu_allocation:
                  cpu.rt_runtim_us: 60000
                  cpu.rt_period_us: 100000
        B:
          type: tosca.nodes.nfv.VDU.Tacker
          capabilities:
            nfv_compute:
              properties:
                cpu_allocation:
                  cpu.rt_runtime_us: { get_input: runtime }
                  cpu.rt_period_us: 100000
        C:
          type: tosca.nodes.nfv.VDU.Tacker
          properties:
            cpu.rt_runtime_us: 60000
            cpu.rt_runtime_us: 70000
    ''')
RIGHT = WRONG.replace('runtim_us', 'runtime_us').replace(
    '500000', '50000').partition('    C:')[0]


@pytest.fixture
def file(tmp_path):
    def written(text, name='given.yaml'):
        path = tmp_path / name
        path.write_text(text)
        return str(path)
    return written


def test_all_problems_are_told_at_once_with_line_and_remedy(file, capsys):
    path = file(WRONG)
    assert command.main(['validate', path]) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(f'{path}:')[2].split(':')[0]
            for line in told] == ['13', '15', '27', '27']
    assert 'write cpu.rt_runtime_us' in told[0]
    assert 'runtime of 500000 µs is longer than the period' in told[1]
    assert 'cpu.rt_runtime_us is given here and on line 26' in told[2]
    assert 'Nothing reads a reservation here' in told[3]


def test_nothing_is_said_of_what_is_right(file, capsys):
    assert command.main(['validate', file(RIGHT)]) == 0
    assert not capsys.readouterr().out


@pytest.mark.parametrize('name', ['standard', 'default'])
def test_our_packages_are_right(name, capsys):
    assert command.main(['validate', str(PACKAGES / name)]) == 0
    assert not capsys.readouterr().out


def test_a_packed_package_is_looked_into(tmp_path, capsys):
    package = tmp_path / 'vnf.csar'
    with zipfile.ZipFile(package, 'w') as packed:
        packed.writestr('Definitions/df.yaml', WRONG)
    assert command.main(['validate', str(package)]) == 1
    assert f'{package}/Definitions/df.yaml:27: ' in capsys.readouterr().out


@pytest.mark.parametrize('place', ['Definitions/', ''])
def test_a_descriptor_is_read_wherever_a_package_has_it(
        tmp_path, capsys, place):
    path = tmp_path / 'vnf' / f'{place}vnfd.yaml'
    path.parent.mkdir(parents=True)
    path.write_text(WRONG)
    package = tmp_path / 'vnf.csar'
    with zipfile.ZipFile(package, 'w') as packed:
        packed.write(path, f'{place}vnfd.yaml')
    for given in (package, tmp_path / 'vnf'):
        assert command.main(['validate', str(given)]) == 1
        assert 'vnfd.yaml:27: ' in capsys.readouterr().out


def test_a_place_without_a_descriptor_is_told_so(tmp_path, capsys):
    package = tmp_path / 'vnf.csar'
    with zipfile.ZipFile(package, 'w') as packed:
        packed.writestr('Files/images/one.yaml', 'a: 1')
    (tmp_path / 'empty').mkdir()
    for given in (package, tmp_path / 'empty'):
        assert command.main(['validate', str(given)]) == 2
        assert 'contains no descriptor' in capsys.readouterr().err


def test_a_package_with_damaged_contents_is_told_so(tmp_path, capsys):
    package = tmp_path / 'vnf.csar'
    with zipfile.ZipFile(package, 'w', zipfile.ZIP_DEFLATED) as packed:
        packed.writestr('Definitions/df.yaml', WRONG)
    content = bytearray(package.read_bytes())
    start = content.index(b'df.yaml') + len(b'df.yaml')
    content[start:start + 9] = b'\xff' * 9
    package.write_bytes(content)
    assert command.main(['validate', str(package)]) == 2
    assert 'is not a readable package' in capsys.readouterr().err


@pytest.mark.parametrize('text', [
    '{{- if .Values.rt }}\nkind: Deployment\n{{- end }}\n', 'a: !vault |\n  abc\n',
    '{\n\t"a": [\n}', 'a: {{ b }}\n'])
@pytest.mark.parametrize('name', ['standard', 'containers'])
def test_what_else_a_package_has_need_not_be_readable(tmp_path, capsys, name, text):
    target = tmp_path / 'vnf'
    shutil.copytree(PACKAGES / name, target)
    place = target / 'Files/other/templates/a.yaml'
    place.parent.mkdir(parents=True)
    place.write_text(text)
    assert command.main(['validate', str(target)]) == 0
    assert not capsys.readouterr().out


@pytest.mark.parametrize('text', [
    'kind: Deployment\n[', '{\n\t"kind": "Pod"\n', "'kind': 'ResourceClaimTemplate'\na: !x\n"])
def test_a_manifest_that_cannot_be_read_is_reported(tmp_path, capsys, text):
    target = tmp_path / 'vnf'
    shutil.copytree(PACKAGES / 'containers', target)
    (target / 'Files/a.yml').write_text(text)
    assert command.main(['validate', str(target)]) == 1
    assert f'{target}/Files/a.yml:2: This is not valid YAML' in capsys.readouterr().out


def test_a_vdu_whose_name_looks_like_a_server_of_another_s_is_its_own():
    found = outcome.of(RIGHT.replace('        B:', '        A-1:').replace(
        '            { get_input: runtime }', '50000'))
    assert found.status == 0, found
    one = hot.servers({'resources': {
        name: {'type': hot.SERVER} for name in ('A', 'A-0', 'A-1')}},
        ['A'], ['A', 'A-1'])
    assert len(list(one)) == 2


@pytest.mark.parametrize(('text', 'said'), [
    ('a: !!timestamp foo', 'cannot be read'),
    ('a: !!int ""', 'cannot be read'), ('a: !!bool foo', 'cannot be read'),
    ('a: [', '1: This is not valid YAML'), ('', '1: This is not TOSCA'),
    ('- 1', 'This is not TOSCA'), ('a: 2001-99-99', 'cannot be read'),
    ('topology_template: []', '1: topology_template: This must be a map'),
    ('topology_template:\n  node_templates:\n    7: {}', '3: '),
    ('!!python/name:os.system x', 'This is not valid YAML'),
    ('[' * 3000, 'cannot be read')])
def test_what_is_no_descriptor_is_told_so(file, capsys, text, said):
    assert command.main(['validate', file(text)]) == 1
    assert said in capsys.readouterr().out


def test_a_file_that_is_no_text_is_told_so(tmp_path, capsys):
    path = tmp_path / 'given.yaml'
    path.write_bytes(b'a: 1\n\xff\xfe')
    assert command.main(['validate', str(path)]) == 1
    assert 'given.yaml:2: This is not UTF-8 text' in capsys.readouterr().err


@pytest.mark.parametrize(('arguments', 'said'), [
    (['validate', 'absent.yaml'], 'absent.yaml: No such file'),
    (['translate', str(PACKAGES / 'standard')], 'is a package'),
    (['translate', 'absent.yaml', '--input', 'x'], 'No such file')])
def test_a_question_that_cannot_be_answered_is_told_so(
        arguments, said, capsys):
    assert command.main(arguments) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_package_is_told_so(file, capsys):
    assert command.main(['validate', file('text', 'vnf.csar')]) == 2
    assert 'is not a readable package' in capsys.readouterr().err


def test_an_input_without_a_value_is_told_so(file, capsys):
    assert command.main(['translate', file(RIGHT), '--input', 'runtime']) == 2
    assert 'give NAME=VALUE' in capsys.readouterr().err


def test_the_value_of_an_input_becomes_the_default(file):
    found = outcome.of(RIGHT, '--input', 'runtime=40000')
    parameters = found.templates['main.yaml']['parameters']
    assert parameters['runtime']['default'] == 40000


def test_translation_refuses_what_validation_refuses(file, capsys):
    assert command.main(['translate', file(RIGHT.replace(
        '60000', '-1'))]) == 1
    assert ':13: ' in capsys.readouterr().err


def test_a_reservation_that_makes_no_server_is_refused():
    found = outcome.of(RIGHT.replace(
        'tosca.nodes.nfv.VDU.Tacker', 'tosca.nodes.Root'))
    assert found.status == 1
    assert not found.templates


def test_unknown_types_are_answered_with_where_they_are(file):
    path = file(
        'tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n'
        + RIGHT)
    # tosca-parser keeps the types of a profile for as long as it runs.
    done = subprocess.run(
        [sys.executable, '-m', 'tacker_rt.command', 'translate', path],
        capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'import nova_rt_nfv_types.yaml' in done.stderr


def test_the_types_are_printed_for_a_package(capsys):
    assert command.main(['types']) == 0
    assert 'tosca.datatypes.nfv.CPUAllocation' in capsys.readouterr().out


def test_nested_templates_need_a_place(tmp_path, capsys):
    scaled = Path(__file__).parents[3] / 'tosca/examples/scaled.yaml'
    assert command.main(['translate', str(scaled)]) == 2
    assert '--output' in capsys.readouterr().err
