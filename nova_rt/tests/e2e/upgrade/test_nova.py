# SPDX-License-Identifier: Apache-2.0
"""Nova 33 becomes Nova 34 under servers that run; nova-rt is the same with both."""

import itertools
import pathlib
import subprocess
import sys

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import stacks
from stack import kernel as stack_kernel
from stack import processes
from stack.services import libvirt
from stack.services import nova

NOVA_33 = stacks.ROOT / '.tox' / 'nova33'
NOVA_34 = pathlib.Path(sys.prefix)
# As Nova's guide has it: compute nodes last.
SERVICES = ('nova-conductor', 'nova-scheduler', 'nova-api', 'nova-compute')

pytestmark = [full.only, pytest.mark.skipif(
    not NOVA_33.exists(), reason='needs Nova 33: call ".venv/bin/tox run -e nova33 --notest"')]


@pytest.fixture(scope='module')
def stack():
    """A cloud of Nova 33 with nova-rt; skips where there can be none."""
    with stacks.running('upgrade', nova=NOVA_33) as cloud:
        yield cloud


@pytest.fixture
def user(stack):
    operator = driver.connect(stack.environment('admin'))
    user = driver.ContainerUser(
        driver.connect(stack.environment('demo')), operator, stack_kernel.spoken(),
        map('upgrade-{}'.format, itertools.count(1)))
    yield user
    user.delete_all()


@pytest.fixture
def flavors(stack):
    return driver.Flavors(driver.connect(stack.environment('admin')))


def run(stack, program, *command):
    """Run one of Nova's programs, or ours, with the release that runs."""
    site = stack.site
    done = subprocess.run(
        libvirt.inside(site, site.nova_script(program), *nova.arguments(site), *command),
        capture_output=True, text=True, timeout=driver.PATIENCE)
    return done.returncode, done.stdout, done.stderr


def succeed(stack, *command):
    status, printed, trouble = run(stack, *command)
    assert status == 0, printed + trouble


def releases(stack):
    """Return the Python environments that the services run in."""
    return {str(path) for path in (NOVA_33, NOVA_34) for name in SERVICES
            for pid in stack.site.processes.members([name])
            if any(f'{word}/'.startswith(f'{path}/') for word in processes.command_line(pid))}


def upgrade(stack):
    stack.site.nova = NOVA_34
    succeed(stack, 'nova-manage', 'api_db', 'sync')
    succeed(stack, 'nova-manage', 'db', 'sync')
    for name in SERVICES:
        stack.restart(name)
    succeed(stack, 'nova-manage', 'db', 'online_data_migrations')


def test_servers_go_on_with_what_they_have(stack, user, flavors):
    assert releases(stack) == {str(NOVA_33)}
    runs = user.boot(flavors(60_000), 'busybox-hog')
    stopped = user.boot(flavors(40_000, vcpus=2), cpu__rt_runtime_us='30000')
    user.cloud.compute.stop_server(stopped.id)
    user.settled(stopped.id, 'SHUTOFF')
    before, init = user.container(runs.id), user.init_of(runs.id)
    driver.assert_gets_its_shares(before)

    upgrade(stack)

    assert releases(stack) == {str(NOVA_34)}
    assert user.container(runs.id) == before
    assert user.init_of(runs.id) == init
    driver.assert_gets_its_shares(before)
    driver.until(lambda: driver.agreed(lambda *command: run(
        stack, 'nova-rt-manage', *command, '-f', 'json')), 'all say the same')
    user.cloud.compute.start_server(stopped.id)
    user.settled(stopped.id, 'ACTIVE')
    assert set(user.container(stopped.id).shares.values()) == {0.15}
    succeed(stack, 'nova-rt-manage', 'reservation', 'set', runs.id, '--runtime-us', '80000')
    assert set(user.container(runs.id).shares.values()) == {0.4}
    assert user.init_of(runs.id) == init
    new = user.boot(flavors(20_000))
    for server in (new, stopped, runs):
        user.delete(server.id)
    assert driver.nothing_held(stack_kernel.spoken())
