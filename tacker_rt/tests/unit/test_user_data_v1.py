# SPDX-License-Identifier: Apache-2.0
"""User data for Tacker's version 1, called as its driver calls it."""

import types

import pytest

from nova_rt import reservation
from tacker_rt import user_data_v1

HINTS = {'cpu.rt_runtime_us': 30000, 'cpu.rt_period_us': 100000}


def vnfd():
    return {'topology_template': {'node_templates': {'VDU1': {
        'type': 'tosca.nodes.nfv.Vdu.Compute',
        'properties': {'sw_image_data': {'name': 'busybox'}},
        'capabilities': {'virtual_compute': {'properties': {
            'requested_additional_capabilities': {'properties': {
                'requested_additional_capability_name': 'vnf'}},
            'virtual_cpu': {
                'num_virtual_cpu': 1,
                'vdu_cpu_requirements': dict(HINTS)}}}}}}}}


def server(**more):
    return {'type': 'OS::Nova::Server', 'properties': {
        'flavor': {'get_param': ['nfv', 'VDU', 'VDU1', 'flavor']},
        'image': {'get_param': ['nfv', 'VDU', 'VDU1', 'image']}, **more}}


def template(resource):
    return {'parameters': {'nfv': {'type': 'json'}},
            'resources': {'VDU1': resource}}


def instantiate(templates, descriptor=None):
    request = types.SimpleNamespace(
        additional_params=None, ext_virtual_links=None)
    return user_data_v1.UserData.instantiate(
        templates, descriptor or vnfd(), request, {})


def test_the_server_of_the_base_template_gets_the_reservation():
    templates = {'heat_template': template(server())}
    parameters = instantiate(templates)
    assert parameters == {'nfv': {'CP': {}, 'VDU': {
        'VDU1': {'flavor': 'vnf', 'image': 'busybox'}}}}
    properties = templates['heat_template']['resources']['VDU1']['properties']
    assert properties['scheduler_hints'] == HINTS


def test_a_nested_server_without_the_hints_is_refused():
    with pytest.raises(
            reservation.InvalidReservationError,
            match=r'write cpu\.rt_runtime_us: 30000, cpu\.rt_period_us'):
        instantiate({'heat_template': template({'type': 'VDU1.yaml'}),
                     'VDU1.yaml': template(server())})


def test_a_nested_server_that_gives_the_hints_itself_is_taken():
    nested = template(server(scheduler_hints=dict(HINTS)))
    assert instantiate({'heat_template': template({'type': 'VDU1.yaml'}),
                        'VDU1.yaml': nested})


def test_a_vdu_without_a_server_is_refused():
    with pytest.raises(reservation.InvalidReservationError,
                       match='of this name'):
        instantiate({'heat_template': template({'type': 'VDU1.yaml'})})
