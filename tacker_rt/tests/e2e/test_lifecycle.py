# SPDX-License-Identifier: Apache-2.0
"""A VNF from onboarding to termination, with Tacker's two kinds of user data."""

import pytest
import yaml

from nova_rt.testing import full
from tacker_rt.tests.e2e import servers
from tacker_rt.tests.e2e.vnf import STANDARD
from tacker_rt.tests.e2e.vnf import USER_DATA

# What the package of version 1 has instead: a file for the class, and other
# names of parameters in templates, of which none is nested.
VERSION_1 = {
    'BaseHOT/simple/nested/VDU_RT.yaml': None,
    'BaseHOT/simple/nested/VDU_PLAIN.yaml': None,
    'UserData/__init__.py': '',
    'UserData/rt.py':
        'from tacker_rt.user_data_v1 import UserData  # noqa: F401\n',
    'BaseHOT/simple/base.yaml': yaml.safe_dump({
        'heat_template_version': '2013-05-23',
        'parameters': {'nfv': {'type': 'json'}},
        'resources': {vdu: {
            'type': 'OS::Nova::Server',
            'properties': {
                'flavor': {'get_param': ['nfv', 'VDU', vdu, 'flavor']},
                'image': {'get_param': ['nfv', 'VDU', vdu, 'image']},
                'networks': [{'allocate_network': 'none'}],
                'user_data_format': 'RAW'},
        } for vdu in ('VDU_RT', 'VDU_PLAIN')}})}


# The second package differs by one edit.
@pytest.mark.parametrize(('example', 'user_data', 'held', 'edit', 'changed'), [
    ('standard', 'StandardUserData', servers.Held(30_000, 100_000, 2),
     {"'30000'": "'20000'"}, servers.Held(20_000, 100_000, 2)),
    pytest.param(
        'default', 'DefaultUserData', servers.Held(20_000, 100_000, 2),
        {"'100000'": "'200000'"}, servers.Held(20_000, 200_000, 2), marks=full.only),
])
def test_each_server_has_its_vdus_reservation_in_every_state_of_the_vnf(
        operator, observer, example, user_data, held, edit, changed):
    with observer.watching() as watch:
        vnf = operator.create(operator.onboard(example))
        vnf.instantiate(**{USER_DATA: 'tacker_rt/user_data.py',
                           f'{USER_DATA}-class': user_data})
        assert reserved(vnf, observer) == {'VDU_RT': [held], 'VDU_PLAIN': [None]}
        vnf.scale('SCALE_OUT')
        assert reserved(vnf, observer)['VDU_RT'] == [held, held]
        before = vnf.servers('VDU_RT')
        vnf.heal(vnf.vnfcs('VDU_RT')[0])
        assert len({*before} & {*vnf.servers('VDU_RT')}) == 1
        assert reserved(vnf, observer)['VDU_RT'] == [held, held]
        if user_data == 'DefaultUserData':
            # A change replaces all servers at once, and there is room for one more.
            vnf.scale('SCALE_IN')
            assert reserved(vnf, observer)['VDU_RT'] == [held]
        left = len(vnf.servers('VDU_RT'))
        vnf.change(operator.onboard(example, edit), 'VDU_RT')
        assert reserved(vnf, observer) == {
            'VDU_RT': [changed] * left, 'VDU_PLAIN': [None]}
        if left == 2:
            vnf.scale('SCALE_IN')
            assert reserved(vnf, observer)['VDU_RT'] == [changed]
        vnf.terminate()
    assert not list(observer.cloud.compute.servers(all_projects=True))
    check_that_none_was_without_its_reservation(
        watch, {held.runtime_us, changed.runtime_us})


def check_that_none_was_without_its_reservation(watch, runtimes):
    """Check the servers of VDU_RT: all there ever were, and at every moment."""
    made = [server for server in watch.made() if 'VDU_RT' in server.name]
    assert {servers.runtime(server) for server in made} == runtimes
    samples = [sample for sample in watch.samples if 'VDU_RT' in sample.name]
    for sample in samples:
        assert sample.runtime_us in runtimes, sample
        assert sample.kernel_us == {sample.runtime_us}, sample
    assert {sample.server for sample in samples} == {server.id for server in made}
    print(f'{len(made)} servers, {len(samples)} samples: none without its reservation')


def test_a_package_that_changes_nothing_of_a_server_leaves_it_alone(operator, observer):
    vnf = operator.create(operator.onboard('standard'))
    vnf.instantiate(**STANDARD)
    before = vnf.servers('VDU_RT')
    with observer.watching() as watch:
        vnf.change(operator.onboard('standard', {
            "version: '1'": "version: '2'"}), 'VDU_RT')
    assert vnf.servers('VDU_RT') == before
    assert watch.made() == []
    assert {sample.kernel_us for sample in watch.samples
            if sample.server in before} == {frozenset({30_000})}


@pytest.mark.parametrize('operator', ['1'], indirect=True)
def test_version_1_of_tackers_api_makes_servers_with_the_reservation(
        operator, observer):
    vnf = operator.create(operator.onboard('standard', files=VERSION_1))
    vnf.instantiate(**{USER_DATA: './UserData/rt.py',
                       f'{USER_DATA}-class': 'UserData'})
    assert reserved(vnf, observer) == {
        'VDU_RT': [servers.Held(30_000, 100_000, 2)], 'VDU_PLAIN': [None]}
    vnf.terminate()
    assert not list(observer.cloud.compute.servers(all_projects=True))


def reserved(vnf, observer):
    """Return what the servers of each VDU hold."""
    return {vdu: [observer.held(server) for server in vnf.servers(vdu)]
            for vdu in ('VDU_RT', 'VDU_PLAIN')}
