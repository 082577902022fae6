# SPDX-License-Identifier: Apache-2.0
"""Heat templates with reservations, and the paper's descriptors as such."""

import pathlib

import pytest

from tacker_rt import command
from tacker_rt.tests.e2e import heat
from tacker_rt.tests.e2e import servers

TOSCA = pathlib.Path(__file__).parents[3] / 'tosca'
FLAVOR = TOSCA / 'hot' / 'flavor.yaml'
# What both ask for.
HELD = servers.Held(30_000, 100_000, 2)
# The paper's second descriptor.
PCPUS = 4


def test_a_template_with_hints_ends_as_a_server_with_the_reservation(
        owner, observer, flavor):
    server = owner.create(heat.HINTS, image='busybox', flavor='vnf')
    assert observer.held(server) == HELD


def test_hints_in_a_template_override_the_flavor(owner, observer, flavor_rt1):
    server = owner.create(
        heat.HINTS, image='busybox', flavor=flavor_rt1,
        runtime_us=40_000)
    assert observer.held(server) == servers.Held(40_000, 100_000, 1)


def test_a_template_with_a_flavor_ends_as_a_server_with_the_reservation(
        admin_owner, observer):
    server = admin_owner.create(FLAVOR, image='busybox')
    assert observer.held(server) == HELD


def test_the_papers_first_descriptor_ends_as_a_server_with_the_reservation(
        owner, observer, flavor_rt1, tmp_path):
    template = translated(TOSCA / 'paper' / 'flavor.yaml', tmp_path)
    server = owner.create(template, VDU_A_image='busybox')
    assert observer.held(server) == servers.Held(60_000, 100_000, 1)


@pytest.mark.parametrize('form', ['hints', 'flavor'])
def test_the_papers_second_descriptor_ends_as_a_server_with_the_reservation(
        admin_owner, host_of_four, form, tmp_path):
    template = translated(
        TOSCA / 'paper' / 'cpu_allocation.yaml', tmp_path, '--form', form)
    server = admin_owner.create(template, VDU_A_image='busybox')
    assert host_of_four.held(server) == servers.Held(60_000, 100_000, PCPUS)


def test_what_no_host_can_give_fails_with_what_it_lacks(
        owner, flavor):
    wanted = {'image': 'busybox', 'flavor': 'vnf', 'runtime_us': 60_000}
    owner.create(heat.HINTS, **wanted)
    said = owner.refusal(heat.HINTS, **wanted)
    assert '35% left and lacks 25%' in ' '.join(said.split())


def test_hints_that_make_no_sense_fail_with_a_sentence(owner, flavor):
    said = owner.refusal(
        heat.HINTS, image='busybox', flavor='vnf',
        runtime_us=200_000)
    assert 'cpu.rt_runtime_us' in said
    assert 'Traceback' not in said


def test_a_user_who_may_make_no_flavors_is_told_so(owner):
    said = owner.refusal(FLAVOR, image='busybox')
    assert said == (
        'ERROR: You are not authorized to use '
        'resource_types:OS::Nova::Flavor.')


def translated(descriptor: pathlib.Path, directory: pathlib.Path,
               *options: str) -> pathlib.Path:
    """Return a descriptor as a Heat template."""
    template = directory / 'template.yaml'
    assert command.main([
        'translate', str(descriptor), '-o', str(template), *options]) == 0
    return template
