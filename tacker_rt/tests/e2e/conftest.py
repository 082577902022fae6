# SPDX-License-Identifier: Apache-2.0
"""One real stack with Neutron, Heat and Tacker for these tests.

NOVA_RT_MANO_RUN_DIR names the run directory of one that is up already, with
``--with mano --with network``: the tests then use it and leave it running.
"""

import contextlib
import os
import shutil
import subprocess

import pytest

from nova_rt.testing import jobs
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import stacks
from stack import kernel as stack_kernel
from tacker_rt.tests.e2e import client
from tacker_rt.tests.e2e import heat
from tacker_rt.tests.e2e import servers
from tacker_rt.tests.e2e import simulated
from tacker_rt.tests.e2e import vnf

# For how long a program misses deadlines, if nobody ends it: longer than a test takes.
MISSING_S = 600


@pytest.fixture(scope='session')
def stack():
    """A real OpenStack with all of these; skips where there can be none."""
    with stacks.running('mano', more=('mano', 'network')) as cloud:
        yield cloud


@pytest.fixture(scope='session')
def kernel(stack):
    """The kernel's dialect."""
    return stack_kernel.spoken()


@pytest.fixture(scope='session')
def admin(stack):
    """The administrator's ``openstack`` command."""
    return client.Client(stack.environment('admin'))


@pytest.fixture(scope='session')
def user(stack):
    """An ordinary user's ``openstack`` command."""
    return client.Client(stack.environment('demo'))


@pytest.fixture(scope='session')
def observer(admin, kernel):
    """Looks at servers, in Nova and in the kernel."""
    return servers.Observer(admin, kernel)


@pytest.fixture(scope='session')
def flavor(admin):
    """That of the example packages."""
    with vnf.flavor(admin) as name:
        yield name


@pytest.fixture(scope='session')
def flavor_rt1(admin):
    """The flavor that the paper's first descriptor names."""
    admin.run('flavor create flavor_rt1 --vcpus 1 --ram 64 --disk 1 '
              '--property hw:cpu.rt_runtime_us=60000 '
              '--property hw:cpu.rt_period_us=100000')
    yield 'flavor_rt1'
    admin.run('flavor delete flavor_rt1')


@pytest.fixture
def owner(user):
    """An ordinary user's stacks."""
    owner = heat.Owner(user)
    yield owner
    owner.delete_all()


@pytest.fixture
def admin_owner(admin):
    """The administrator's stacks: nobody else may make flavors."""
    owner = heat.Owner(admin)
    yield owner
    owner.delete_all()


@pytest.fixture
def host_of_four(stack, admin, observer, admin_owner):
    """Observes a host of four pCPUs at least: simulated, if this has fewer."""
    if os.cpu_count() >= 4:
        yield observer
        return
    compute = simulated.Compute(stack.site)
    compute.start()
    yield simulated.Observer(compute, admin)
    admin_owner.delete_all()
    compute.end(admin)


@pytest.fixture
def operator(request, user, flavor, tmp_path, kernel):
    """A VNF operator; the version of the API may be a parameter, or is 2."""
    operator = vnf.Operator(user, getattr(request, 'param', '2'), tmp_path)
    yield operator
    operator.clean_up()
    driver.until(lambda: driver.nothing_held(kernel), 'all is given back')


@pytest.fixture
def late(observer, tmp_path):
    """Starts, in a server's container, a program that misses its deadlines."""
    program = jobs.compile_program(
        jobs.build(tmp_path / 'built'), jobs.SOURCES / 'tests' / 'late.c', '-static')
    with contextlib.ExitStack() as stack:
        def start(server):
            inside = ('nsenter', '--mount', '--pid', '--target', observer.init_of(server))
            subprocess.run((*inside, 'mount', '-t', 'tmpfs', 'tmpfs', '/run'), check=True)
            shutil.copy(program, f'/proc/{inside[-1]}/root/run/late')
            running = stack.enter_context(
                subprocess.Popen((*inside, '/run/late', str(MISSING_S))))
            stack.callback(running.kill)
        yield start
