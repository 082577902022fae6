# SPDX-License-Identifier: Apache-2.0
"""Our user data on Tacker's own packages, beside the classes it extends."""

from pathlib import Path
import shutil

import pytest
from tacker.sol_refactored.common import exceptions
from tacker.sol_refactored.common import vnfd_utils
import yaml

from nova_rt.testing import full
from tacker_rt import hot
from tacker_rt import template_hints
from tacker_rt import user_data
from tacker_rt.tests import corpus
from tacker_rt.tests import upstream

KINDS = {'Standard': user_data.userdata_standard,
         'Default': user_data.userdata_default}
WHERE = 'samples' if full.WANTED else (
    'samples/tests/functional/sol_v2_common/userdata_standard')


@pytest.fixture(scope='module')
def packages(tmp_path_factory):
    """Return the packages that bring templates, with their flavours."""
    tree = tmp_path_factory.mktemp('packages') / 'tacker'
    shutil.copytree(upstream.sources('tacker') / WHERE, tree)
    found = []
    for base in sorted(tree.rglob('BaseHOT')):
        vnfd = vnfd_utils.Vnfd('vnfd')
        try:
            vnfd.init_from_csar_dir(str(base.parent))
        except (OSError, yaml.YAMLError, exceptions.SolException):
            continue
        found += [(base.parent, flavour.name) for flavour in base.iterdir()
                  if vnfd.get_vnfd_flavour(flavour.name)]
    assert found
    return found


def instantiated(module, kind, csar_dir, flavour_id):
    """Return what a class gives, None if the package is not for it."""
    vnfd = vnfd_utils.Vnfd('vnfd')
    vnfd.init_from_csar_dir(str(csar_dir))
    vdus = list(vnfd.get_vdu_nodes(flavour_id))
    grant_req = {'operation': 'INSTANTIATE', 'addResources': [
        {'id': vdu, 'type': 'COMPUTE', 'resourceTemplateId': vdu}
        for vdu in vdus]}
    req = {'flavourId': flavour_id, 'extVirtualLinks': [{
        'id': 'link', 'resourceId': 'network', 'extCps': [
            external(name) for name in vnfd.get_vducp_nodes(flavour_id)]}]}
    try:
        return getattr(module, f'{kind}UserData').instantiate(
            req, {'vnfdId': 'vnfd'}, grant_req, {'id': 'grant'},
            str(csar_dir))
    except (KeyError, TypeError, AttributeError):
        return None


def external(name):
    """Return a connection point as a request gives it."""
    return {'cpdId': name, 'cpConfig': {f'{name}_0': {'cpProtocolData': [{
        'layerProtocol': 'IP_OVER_ETHERNET', 'ipOverEthernet': {
            'ipAddresses': [{'type': 'IPV4', 'subnetId': 'subnet',
                             'fixedAddresses': ['192.0.2.7']}]}}]}}}


def reserve(csar_dir: Path, flavour_id: str) -> list[str]:
    """Let every VDU of a package ask for a reservation; return them."""
    for path in (csar_dir / 'Definitions').glob('*.y*ml'):
        content = yaml.safe_load(path.read_text())
        topology = (content or {}).get('topology_template') or {}
        mapped = topology.get('substitution_mappings') or {}
        if (mapped.get('properties') or {}).get('flavour_id') == flavour_id:
            vdus = [name for name, node in topology['node_templates'].items()
                    if node['type'] == template_hints.VDU_TYPE]
            path.write_text(corpus.with_reservations(
                path, dict.fromkeys(vdus, True)).read_text())
            return vdus
    return []


def test_tackers_packages_are_deployed_alike_and_carry_reservations(packages):
    alike = carried = servers = 0
    for csar_dir, flavour_id in packages:
        theirs = {kind: instantiated(module, kind, csar_dir, flavour_id)
                  for kind, module in KINDS.items()}
        for kind, fields in theirs.items():
            assert instantiated(
                user_data, kind, csar_dir, flavour_id) == fields
            alike += fields is not None
        vdus = reserve(csar_dir, flavour_id)
        for kind, fields in theirs.items():
            if fields is not None and vdus:
                ours = instantiated(user_data, kind, csar_dir, flavour_id)
                found = _served(ours, vdus)
                assert {name for name, _ in found} == set(vdus), csar_dir
                assert all(hints.items() >= corpus.TIMES.items()
                           for _, hints in found)
                carried, servers = carried + 1, servers + len(found)
    assert carried
    print(f'{len(packages)} flavours of packages, {alike} deployed alike, '
          f'{carried} with {servers} servers carried')


def _served(fields, vdus):
    """Return VDU and hints of every server that is sent to Heat."""
    return [(vdu, server['properties'].get(hot.HINTS) or {})
            for text in [fields['template'], *fields['files'].values()]
            for vdu, server in hot.servers(yaml.safe_load(text), vdus)]
