# SPDX-License-Identifier: Apache-2.0
"""Pages whose commands need Tacker or Neutron, typed as they stand there."""

import json
import shutil
import time

import pytest

from nova_rt.testing import documentation
from nova_rt.testing import full
from nova_rt.tests.e2e import network
from stack.services import neutron
from tacker_rt.testing import packages

DEPLOYMENT = 'doc/source/mano/deploy.rst'


@pytest.fixture
def desk(user, tmp_path):
    """A directory with the examples, ETSI's types and the requests' files."""
    shutil.copytree(documentation.ROOT / 'tosca', tmp_path / 'tosca')
    standard = tmp_path / 'tosca' / 'packages' / 'standard'
    for name in packages.ETSI_TYPES:
        shutil.copy(packages.of_tacker(name), standard / 'Definitions')
    (_, shown), = documentation.blocks(DEPLOYMENT, 'json')
    outside = user.cloud.network.find_network(neutron.PHYSICAL).id
    request = json.loads(''.join(shown).replace('NETWORK', outside))
    additional = {'additionalParams': request['additionalParams']}
    (standard / 'instantiate.json').write_text(json.dumps(request))
    (standard / 'additional.json').write_text(json.dumps(additional))
    (standard / 'change.json').write_text(json.dumps({
        'vnfdId': packages.vnfd_id('standard'),
        'additionalParams': {
            **request['additionalParams'], 'upgrade_type': 'RollingUpdate',
            'vdu_params': [{'vdu_id': 'VDU_RT'}]}}))
    return tmp_path


@pytest.fixture
def small(admin):
    """The flavor that the page names; it reserves nothing."""
    admin.run('flavor create small --vcpus 2 --ram 64 --disk 1')
    yield
    admin.run('flavor delete small')


@full.only
def test_the_page_on_deployment(
        stack, desk, small, flavor, flavor_rt1, operator):
    def package():
        return operator.adopt()[0]

    def vnfd():
        operator.wait_until_onboarded(package())
        return packages.vnfd_id('standard')

    def vnf():
        found = operator.adopt()[1]
        found.settled()
        if operator.latest(found.id):
            found.succeeded()
        # Tacker forgets an operation a moment after it shows it as over, and
        # no reader types faster than that.
        time.sleep(3)
        return found.id

    def vnfc():
        return operator.adopt()[1].vnfcs('VDU_RT')[0]

    def server():
        return operator.adopt()[1].servers('VDU_RT')[0]

    reader = documentation.Reader(
        desk, stack.environment('demo'), stack.environment('admin'),
        {'PACKAGE': package, 'VNFD': vnfd, 'VNF': vnf, 'VNFC': vnfc,
         'SERVER': server})
    for command in documentation.commands(DEPLOYMENT):
        reader.type(command)
        if command.text.startswith('openstack stack create'):
            # They are three ways to the same, for which there is no room.
            reader.type(command._replace(
                text='openstack stack delete --yes --wait vnf'))
    vnf()


@pytest.fixture
def rt1(admin):
    """The flavor of the user guide."""
    admin.run('flavor create rt1 --vcpus 2 --ram 64 --disk 1 '
              '--property hw:cpu.rt_runtime_us=60000 '
              '--property hw:cpu.rt_period_us=200000')
    yield
    admin.run('flavor delete rt1')


@pytest.fixture
def web(user, rt1):
    """The server that the page makes and opens to all, gone afterwards."""
    before = {each.id for each in user.cloud.network.security_group_rules()}
    yield 'web'
    user.run('server delete web --wait')
    for rule in user.cloud.network.security_group_rules():
        if rule.id not in before:
            user.run(f'security group rule delete {rule.id}')


@full.only
def test_the_page_on_the_stack(stack, user, web, tmp_path):
    def address():
        server = user.cloud.compute.find_server(web)
        (found,), = user.cloud.compute.get_server(server).addresses.values()
        network.outside(stack).reaches(found['addr'], network.FIRST)
        return found['addr']

    documentation.Reader(tmp_path, names={
        'run/stack': str(stack.site.rundir.path), 'ADDRESS': address,
    }).read('doc/source/stack.rst')
