# SPDX-License-Identifier: Apache-2.0
"""The page on deployment, typed as it stands there."""

import json
import shutil

import pytest

from nova_rt.tests import documentation
from tacker_rt.tests.e2e import packages

PAGE = 'doc/source/mano/deploy.rst'


@pytest.fixture
def desk(tmp_path):
    """A directory with the examples, ETSI's types and the requests' files."""
    shutil.copytree(documentation.ROOT / 'tosca', tmp_path / 'tosca')
    standard = tmp_path / 'tosca' / 'packages' / 'standard'
    for name in packages.ETSI_TYPES:
        shutil.copy(packages.of_tacker(name), standard / 'Definitions')
    (_, shown), = documentation.blocks(PAGE, 'json')
    request = json.loads(''.join(shown))
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


def test_the_page_on_deployment(
        stack, desk, small, flavor, flavor_rt1, owner, operator):
    def package():
        return operator.adopt()[0]

    def vnfd():
        operator.wait_until_onboarded(package())
        return packages.vnfd_id('standard')

    def vnf():
        found = operator.adopt()[1]
        found.settled()
        return found.id

    def vnfc():
        return operator.adopt()[1].vnfcs('VDU_RT')[0]

    def server():
        return owner.create(documentation.ROOT / 'tosca/hot/hints.yaml',
                            image='busybox', flavor='small')

    reader = documentation.Reader(
        desk, stack.environment('demo'), stack.environment('admin'),
        {'PACKAGE': package, 'VNFD': vnfd, 'VNF': vnf, 'VNFC': vnfc,
         'SERVER': server})
    for command in documentation.commands(PAGE):
        reader.type(command)
        if command.text.startswith('openstack stack create'):
            # They are three ways to the same, for which there is no room.
            reader.type(command._replace(
                text='openstack stack delete --yes --wait vnf'))
    operator.adopt()[1].succeeded()
