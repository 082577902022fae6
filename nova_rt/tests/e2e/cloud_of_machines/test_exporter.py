# SPDX-License-Identifier: Apache-2.0
"""What Prometheus is told of virtual machines agrees with the kernel."""

import time

import pytest

from nova_rt.tests.e2e import exporter
from nova_rt.tests.e2e import test_exporter
from stack import vcpus


def test_what_is_told_is_what_the_kernel_does(stack, user, flavors, tmp_path):
    server = user.boot(flavors(40_000, 200_000, vcpus=2)).id
    machine = user.machine(server)
    with exporter.running(stack, tmp_path) as exported:
        before = exported.scrape()
        for _ in range(test_exporter.SCRAPES):
            for _, _, vcpu, pcpu in places(before):
                assert exported.agrees(
                    lambda pcpu=int(pcpu): vcpus.used(machine)[pcpu][1],
                    'nova_rt_server_used_seconds_total', server, vcpu)
            time.sleep(test_exporter.PAUSE_S)
        after = exported.scrape()
    for pcpu, share in machine.shares.items():
        assert after['nova_rt_server_enforced_ratio', server, str(pcpu)] == (
            pytest.approx(share, abs=test_exporter.TOLERANCE))
    assert sorted(int(pcpu) for *_, pcpu in places(after)) == [*machine.shares]
    for _, _, vcpu, _ in places(after):
        waiting = 'nova_rt_server_waiting_seconds_total', server, vcpu
        assert after[waiting] > before[waiting]


def places(scrape):
    """Return the keys that tell where vCPUs are."""
    return [key for key in scrape if key[0] == 'nova_rt_server_vcpu_info']
