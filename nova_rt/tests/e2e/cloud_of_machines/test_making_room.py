# SPDX-License-Identifier: Apache-2.0
"""A vCPU of one server moves so that another server fits, by the real shell and kernel."""

import json
import os
import subprocess

import pytest

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import nova_options
from nova_rt.tests.e2e.cloud_of_machines import machine_user
from stack import vcpus

WINDOW_S = 10.0
TOLERANCE = 0.003


@pytest.fixture
def rt(stack):
    """Runs "openstack rt defrag" as a user; returns status, output and errors."""
    def run(*arguments, user='admin'):
        done = subprocess.run(
            [stack.site.script('openstack'), 'rt', 'defrag', *arguments],
            env={**os.environ, **stack.environment(user)},
            capture_output=True, text=True, timeout=driver.PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr
    return run


@pytest.fixture
def half(stack):
    """The host gives servers half of each pCPU."""
    with nova_options.of(stack, 'nova-compute', machine_user.HALF):
        yield


def test_a_server_that_fits_no_pcpu_does_after_a_move(rt, half, user, operator, flavors):
    small = [user.boot(flavors(40_000)) for _ in range(2)]
    host = operator.compute.get_server(small[0].id).compute_host
    assert [set(user.machine(server.id).shares) for server in small] == [{0}, {1}]
    large = flavors(70_000)
    refused = user.ask(large)
    user.settled(refused.id, 'ERROR')

    status, planned, said = rt('plan', '--host', host, '--flavor', large, '-f', 'json')
    assert status == 0, said
    move, = json.loads(planned)['moves']
    assert move['server'] in {server.id for server in small}
    assert rt('run', '--host', host, '--flavor', large, user='demo')[0] == 1
    status, made, said = rt('run', '--host', host, '--flavor', large, '-f', 'json')
    assert status == 0, said
    assert [row['server'] for row in json.loads(made)] == [move['server']]

    machines = [user.machine(server.id) for server in (*small, user.boot(large))]
    assert [machine.shares for machine in machines[:2]] == [{move['target']: 0.2}] * 2
    assert machines[2].shares == {move['source']: 0.35}
    for machine in machines:
        driver.assert_get(vcpus.measure, machine, WINDOW_S, TOLERANCE)
    assert rt('run', '--host', host, '--flavor', large)[0] == 1
