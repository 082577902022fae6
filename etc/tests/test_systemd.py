# SPDX-License-Identifier: Apache-2.0
"""The units of systemd."""

import configparser
import importlib.metadata
import pathlib
import shlex
import shutil
import subprocess

import pytest

from nova_rt.virt.deadline import granularity

UNITS = sorted(
    (pathlib.Path(__file__).parents[2] / 'etc/systemd').glob('nova-rt-*'))

TURNS = UNITS[0].parent / 'nova-rt-turns.service'


def parsed(path):
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(path)
    return parser


@pytest.mark.parametrize('unit', UNITS, ids=lambda path: path.name)
def test_systemd_finds_nothing_wrong_with_a_unit(unit, tmp_path):
    if shutil.which('systemd-analyze') is None:
        pytest.skip('There is no systemd-analyze.')
    for each in UNITS:
        text = each.read_text()
        # It insists that the commands are installed.
        (tmp_path / each.name).write_text(
            text.replace('ExecStart=nova-rt-', 'ExecStart=/bin/true nova-rt-'))
    done = subprocess.run(
        ('systemd-analyze', 'verify', '--man=no', '--recursive-errors=no',
         tmp_path / unit.name), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert unit.name not in done.stderr


@pytest.mark.parametrize('unit', [
    path for path in UNITS if path.suffix == '.service' and path != TURNS],
    ids=lambda path: path.name)
def test_a_unit_starts_a_command_of_ours(unit):
    service = parsed(unit)['Service']
    commands = {each.name for each in importlib.metadata.entry_points(
        group='console_scripts') if each.dist.name == 'nova-rt'}
    assert service['ExecStart'].split()[0] in commands
    # The others write control groups, or read those of all.
    assert service['User'] == ('nova' if 'conductor' in unit.name else 'root')


@pytest.mark.parametrize(('features', 'starts'), [
    ('NO_HRTICK NO_HRTICK_DL LB_MIN', True), ('NO_HRTICK HRTICK_DL LB_MIN', False)])
def test_what_others_have_turned_on_is_left_to_them(features, starts, tmp_path):
    file = tmp_path / 'features'
    file.write_text(features)
    condition = parsed(TURNS)['Service']['ExecCondition'].replace(
        str(granularity.FEATURES), str(file))
    assert (subprocess.run(shlex.split(condition)).returncode == 0) == starts


def test_both_compute_services_cannot_run_at_once():
    unit = parsed(UNITS[0].parent / 'nova-rt-compute.service')['Unit']
    assert unit['Conflicts'] == 'nova-compute.service'
