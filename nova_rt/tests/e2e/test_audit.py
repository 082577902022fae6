# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage on a real stack: audit and why."""

import json

from nova_rt.tests.e2e import driver


def test_with_servers_that_run_and_stop_an_audit_finds_nothing(
        manage, user, flavors):
    user.boot(flavors(40_000), 'busybox-hog')
    stopped = user.boot(flavors(40_000), 'busybox-hog')
    user.cloud.compute.stop_server(stopped.id)
    user.settled(stopped.id, 'SHUTOFF')
    driver.until(lambda: driver.agreed(manage), 'all say the same')


def test_a_budget_that_was_taken_away_is_found_and_given_back(
        manage, user, flavors, kernel):
    server = user.boot(flavors(40_000), 'busybox-hog')
    driver.until(lambda: driver.agreed(manage), 'all say the same')
    group = user.container(server.id).group
    kernel.tree.write(group, 'cpu.rt_runtime_us', '20000')
    status, printed, _ = manage('audit')
    assert status == 1
    assert 'kernel-lacks' in {each['kind'] for each in json.loads(printed)}
    status, printed, trouble = manage('audit', '--heal')
    assert status == 0, printed + trouble
    assert set(user.container(server.id).shares.values()) == {0.2}


def test_why_tells_what_each_pcpu_lacks(manage, user, flavors):
    user.boot(flavors(120_000, vcpus=2), 'busybox-hog')
    refused = user.ask(flavors(160_000, vcpus=2))
    user.settled(refused.id, 'ERROR')
    status, printed, trouble = manage('why', refused.id)
    assert status == 0, trouble
    told = {row['what']: row for row in json.loads(printed)}
    assert 'No valid host' in told['fault']['why']
    assert any(what.startswith('pCPU') for what in told)
