# SPDX-License-Identifier: Apache-2.0
"""The documentation's commands, typed on a real cloud as they stand there."""

import functools
import json
import os
import pathlib
import shutil

import pytest

from nova_rt.testing import documentation
from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from stack.services import libvirt

SIZING = 'doc/source/sizing/guide.rst'
MISTYPED = """
tosca_definitions_version: tosca_simple_profile_for_nfv_rt_1_0_0
topology_template:
  node_templates:
    A:
      type: tosca.nodes.nfv.VDU
      capabilities:
        nfv_compute:
          properties:
            cpu_allocation: {cpu.rt_runtim_us: 30000}
"""
ADD = {'op': 'add', 'id': 'c1', 'runtime_us': 50_000, 'period_us': 100_000,
       'vcpus': 2}


@pytest.fixture
def reader(stack, user, tmp_path):
    """Makes a reader on the compute host: nova.conf is where Nova looks."""
    nova = stack.site.rundir.etc / 'nova'
    (tmp_path / '.nova').symlink_to(nova)
    shutil.copy(nova / 'api-paste.ini', tmp_path)
    home = {'HOME': str(tmp_path)}
    return functools.partial(
        documentation.Reader, tmp_path,
        {**stack.environment('demo'), **home},
        {**stack.environment('admin'), **home},
        wrap=functools.partial(libvirt.inside, stack.site))


@pytest.fixture
def made(operator):
    """Flavors that pages make, by their names; they are deleted."""
    names = []
    yield names
    for name in names:
        operator.compute.delete_flavor(operator.compute.find_flavor(name).id)


def test_the_readme(reader, made, tmp_path):
    made.append('rt1')
    (tmp_path / 'vnfd.yaml').write_text(MISTYPED)
    reader(names={
        '/etc/nova/api-paste.ini': str(tmp_path / 'api-paste.ini'),
    }).read('README.rst', fails=('tacker-rt validate',),
            answers={'nova-rt-plan simulate': json.dumps(ADD) + '\n'})


def test_a_users_pages(reader, user, made, operator, kernel):
    made += ['rt1', 'rt2']
    operator.compute.create_flavor_extra_specs(
        operator.compute.create_flavor(name='rt2', vcpus=2, ram=512, disk=1),
        {'hw:cpu.rt_runtime_us': '60000', 'hw:cpu.rt_period_us': '200000'})
    at_desk = reader()

    at_desk.read('doc/source/user/reservations.rst')
    held = kernel.read(
        user.container(user.cloud.compute.find_server('web').id).group)
    assert (max(held.runtimes_us), held.period_us) == (120_000, 200_000)

    at_desk.read('doc/source/user/applications.rst')
    too_large = user.ask(operator.compute.find_flavor('rt1').id,
                         cpu__rt_runtime_us='180000')
    user.settled(too_large.id, 'ERROR')
    reader(names={'big': too_large.id}).read('doc/source/user/refusals.rst')


@full.only
def test_the_guide_from_an_slo_to_a_server(reader, made, tmp_path):
    made.append('sip')
    (tmp_path / 'reservations.jsonl').write_text(json.dumps(ADD))
    blocks = documentation.blocks(SIZING, 'yaml')
    for name, (_, lines) in zip(('chain', 'tasks'), blocks, strict=True):
        (tmp_path / f'{name}.yaml').write_text('\n'.join(lines))
    reader(names={
        'IMAGE': 'busybox', '--network NETWORK': '--nic none --wait',
    }).read(SIZING)


def test_the_operators_pages(
        reader, user, flavors, operator, manage, tmp_path):
    flavor = flavors(60_000)
    server = user.boot(flavor)
    (hypervisor,) = operator.compute.hypervisors()
    operated = reader(names={
        'SERVER': server.id, 'PROVIDER': hypervisor.id,
        '/etc/nova/api-paste.ini': str(tmp_path / 'api-paste.ini')})

    # The check ends with another status as long as a column is missing.
    assert manage('db', 'upgrade')[0] == 0
    operated.read('doc/source/operator/upgrade.rst')
    operated.read('doc/source/operator/install.rst')
    operated.read('doc/source/operator/kernels.rst')
    operated.read('doc/source/operator/placement.rst')
    operated.read('doc/source/operator/changes.rst')
    operated.read('doc/source/operator/audit.rst')
    (service,) = operator.compute.services(binary='nova-compute')
    reader(names={
        'compute-1': service.host, 'web': server.name, 'rt1': flavor,
    }).read('doc/source/operator/view.rst')
    assert user.settled(server.id, 'ACTIVE').flavor.extra_specs[
        'hw:cpu.rt_runtime_us'] == '80000'


@pytest.mark.skipif(
    not pathlib.Path('/sys/fs/cgroup/cpu/cpu.rt_runtime_us').exists(),
    reason='the page is about version 1 of control groups')
def test_what_helps_in_trouble(reader, user, flavors, kernel):
    user.delete(user.boot(flavors(60_000)).id)
    driver.until(lambda: driver.nothing_held(kernel), 'all is given back')
    os.makedirs('/sys/fs/cgroup/cpu/machine', exist_ok=True)
    reader().read('doc/source/operator/troubleshooting.rst')
