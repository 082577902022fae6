# SPDX-License-Identifier: Apache-2.0
"""The two descriptors of the OpenStack paper, section 5.1."""

from pathlib import Path
import textwrap

import pytest

from tacker_rt.tests import outcome

PAPER = Path(__file__).parents[3] / 'tosca' / 'paper'
# As the paper prints them; text that is copied from it has no indentation.
PRINTED = {
    'flavor': [
        'topology_template:', 'node_templates:', 'VDU_A:',
        'type: tosca.nodes.nfv.VDU.Tacker', 'properties:',
        'flavor: flavor_rt1', '...'],
    'cpu_allocation': [
        'topology_template:', 'node_templates:', 'VDU_A:',
        'type: tosca.nodes.nfv.VDU.Tacker', 'capabilities:', 'nfv_compute:',
        'properties:', 'num_cpus: 4', 'mem_size: 4096 MB',
        'disk_size: 20 GB', 'cpu_allocation:', 'cpu.rt_period_us: 100000',
        'cpu.rt_runtime_us: 60000']}
RESERVATION = {'cpu.rt_runtime_us': 60000, 'cpu.rt_period_us': 100000}


def as_written(name):
    return (PAPER / f'{name}.yaml').read_text()


def as_copied(name):
    return '\n'.join(PRINTED[name]) + '\n'


def as_printed(name):
    """Return the descriptor with its dots where the paper has them."""
    return as_written(name).replace('\n...', '\n' + ' ' * 8 + '...')


def shifted(name):
    return textwrap.indent(as_written(name).replace('\n...', ''), '    ')


WAYS = [as_written, as_copied, as_printed, shifted]


@pytest.mark.parametrize('name', PRINTED)
def test_the_descriptors_are_those_of_the_paper_to_the_character(name):
    lines = [line.strip() for line in as_written(name).splitlines()]
    assert lines == PRINTED[name]


@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('form', ['hints', 'flavor'])
def test_a_named_flavor_is_the_flavor_of_the_server(way, form):
    found = outcome.of(way('flavor'), '--form', form, name='paper.txt')
    assert found.status == 0, found.sentences
    assert found.servers()['VDU_A']['flavor'] == 'flavor_rt1'
    assert not found.flavors()


@pytest.mark.parametrize('way', WAYS)
def test_an_allocation_becomes_hints_and_a_flavor_of_this_size(way):
    found = outcome.of(way('cpu_allocation'), name='paper.txt')
    assert found.status == 0, found.sentences
    server = found.servers()['VDU_A']
    assert server['scheduler_hints'] == RESERVATION
    assert server['flavor'] == {'get_resource': 'VDU_A_flavor'}
    assert found.flavors() == {'VDU_A': {'vcpus': 4, 'ram': 4096, 'disk': 20}}


@pytest.mark.parametrize('way', WAYS)
def test_an_allocation_becomes_extra_specs_if_asked_to(way):
    found = outcome.of(way('cpu_allocation'), '--form', 'flavor')
    assert found.status == 0, found.sentences
    assert 'scheduler_hints' not in found.servers()['VDU_A']
    assert found.flavors()['VDU_A']['extra_specs'] == {
        'hw:cpu.rt_runtime_us': '60000', 'hw:cpu.rt_period_us': '100000'}


def test_lost_indentation_is_told():
    found = outcome.of(as_copied('flavor'))
    assert 'the indentation was lost and has been restored' in found.sentences


def test_several_vdus_without_indentation_are_told_apart():
    found = outcome.of('\n'.join([
        *PRINTED['cpu_allocation'], 'VDU_B:', *PRINTED['flavor'][3:]]))
    assert found.status == 0, found.sentences
    assert found.reservation('VDU_A') == RESERVATION
    assert found.servers()['VDU_B']['flavor'] == 'flavor_rt1'
