# SPDX-License-Identifier: Apache-2.0
"""What Prometheus is told of virtual machines agrees with the kernel."""

import pytest

from nova_rt.tests.e2e import exporter
from nova_rt.tests.e2e.cloud_of_machines import test_shares
from stack import vcpus

TOLERANCE = 0.001  # of a pCPU


def test_what_is_told_is_what_the_kernel_does(stack, user, flavors, tmp_path):
    server = user.boot(flavors(40_000, 200_000, vcpus=2)).id
    machine = user.machine(server)
    with exporter.running(stack, tmp_path) as exported:
        before = exported.scrape()
        measured = vcpus.measure([machine], test_shares.WINDOW_S)[machine.server]
        after = exported.scrape()
    for pcpu, share in machine.shares.items():
        name = 'nova_rt_server_used_seconds_total', server, str(pcpu)
        told = after.rate(before, *name)
        print(f'told {told:.4f}, measured {measured[pcpu]:.4f}')
        assert told == pytest.approx(measured[pcpu], abs=TOLERANCE)
        assert after.samples['nova_rt_server_enforced_ratio', server, str(pcpu)] == (
            pytest.approx(share, abs=TOLERANCE))
        waiting = 'nova_rt_server_waiting_seconds_total', server, str(pcpu)
        assert after.samples[waiting] > before.samples[waiting]
