# SPDX-License-Identifier: Apache-2.0
"""nova-rt is put into a cloud, used, and taken out: the cloud is as it was."""

import itertools
import pathlib

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import stacks
from nova_rt.tests.e2e.removal import deployment as deployments
from stack import kernel as stack_kernel

pytestmark = full.only


@pytest.fixture(scope='module')
def stack():
    """A cloud without nova-rt; skips where there can be none."""
    with stacks.running('removal', stock=True) as cloud:
        yield cloud


@pytest.fixture
def deployment(stack):
    return deployments.Deployment(stack)


@pytest.fixture
def user(stack):
    operator = driver.connect(stack.environment('admin'))
    user = driver.User(driver.connect(stack.environment('demo')), operator,
                       map('removal-{}'.format, itertools.count(1)))
    yield user
    user.delete_all()


@pytest.fixture
def flavors(stack):
    return driver.Flavors(driver.connect(stack.environment('admin')))


def test_a_cloud_is_as_it_was_before_nova_rt(deployment, user, flavors):
    old = user.boot(flavors())
    files = deployment.conf.read_bytes(), deployment.paste.read_bytes()
    schemas, placement = deployment.schemas(), deployment.placement()

    deployment.install()
    stays = user.boot(flavors(20_000), 'busybox-hog', cpu__rt_runtime_us='30000')
    user.delete(user.boot(flavors(20_000), 'busybox-hog').id)
    before = deployment.uninstall('check')
    assert f'server {stays.id}' in before
    assert any(place.startswith('host') for place in before)
    assert deployment.uninstall('clean', '--abandon')[f'server {stays.id}']
    assert f'server {stays.id}' in deployment.uninstall('check', '--host')

    deployment.stop(files[0])
    assert f'server {stays.id}' in deployment.uninstall('clean')
    assert set(deployment.uninstall('clean', '--abandon').values()) == {'generated columns'}
    deployment.use_nova_alone()
    assert deployment.manage('db', 'downgrade').returncode == 0
    assert deployment.uninstall('check') == {}
    assert f'server {stays.id}' in deployment.uninstall('check', '--host')

    assert {server.id for server in user.cloud.compute.servers()} == {old.id, stays.id}
    user.cloud.compute.reboot_server(stays.id, 'HARD')
    user.settled(stays.id, 'ACTIVE')
    new = user.boot(flavors())
    assert any(stack_kernel.spoken().read('machine').runtimes_us)
    (rt_init,) = deployment.uninstall('clean', '--host')
    assert not any(stack_kernel.spoken().read('machine').runtimes_us)
    pathlib.Path(rt_init).unlink()
    assert deployment.uninstall('check', '--host') == {}
    for server in (new, stays):
        user.delete(server.id)

    assert deployment.rows_with_ours() == []
    assert (deployment.conf.read_bytes(), deployment.paste.read_bytes()) == files
    assert deployment.schemas() == schemas
    assert deployment.placement() == placement
