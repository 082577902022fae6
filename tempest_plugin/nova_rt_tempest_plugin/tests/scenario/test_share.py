# SPDX-License-Identifier: Apache-2.0
"""The share that a server gets: measured in a container, or by Nova of a vCPU's thread."""

import re
import time

from tempest import config
from tempest.lib import decorators
from tempest.lib.common import api_microversion_fixture
from tempest.lib.common.utils import test_utils

from nova_rt_tempest_plugin import config as our_config
from nova_rt_tempest_plugin.tests import base

CONF = config.CONF
LINE = re.compile(r'^(\d+) (\d+) (\d+)\r?$', re.MULTILINE)
# The first whose diagnostics have each vCPU's time by its number.
DIAGNOSTICS_MICROVERSION = '2.48'
FIRMWARE_S = 5
WINDOW_S = 10


class ShareTest(base.ReservationTest):
    """Measures for some seconds."""

    @classmethod
    def skip_checks(cls):
        """Skip if nothing can be measured."""
        super().skip_checks()
        if not CONF.nova_rt.meter_image_ref:
            raise cls.skipException('[nova_rt] meter_image_ref is not set.')
        if (CONF.nova_rt.kind == our_config.CONTAINER
                and not CONF.compute_feature_enabled.console_output):
            raise cls.skipException(
                '[compute-feature-enabled] console_output is off.')

    def _lines(self, server):
        output = self.servers.get_console_output(server)['output']
        return LINE.findall(output)

    def _of_threads(self, server):
        """Return the shares that the threads of a virtual machine's vCPUs got."""
        # Its firmware waits more than it works.
        time.sleep(FIRMWARE_S)
        before, began = self._times(server), time.monotonic()
        time.sleep(WINDOW_S)
        after, passed = self._times(server), time.monotonic() - began
        return {vcpu: (after[vcpu] - used) / 1e9 / passed
                for vcpu, used in before.items()}

    def _times(self, server):
        """Return the CPU time of each vCPU's thread, in ns."""
        with api_microversion_fixture.APIMicroversionFixture(
                compute_microversion=DIAGNOSTICS_MICROVERSION):
            shown = self.os_admin.servers_client.show_server_diagnostics(server)
        return {vcpu['id']: vcpu['time'] for vcpu in shown['cpu_details']}

    def _in_container(self, server, vcpus):
        """Return the shares that a container got on its CPUs.

        :returns: by CPU, the second measurement of the container; the first
            is left out, as it may include its start
        """
        lines = []

        def measured_twice():
            lines[:] = self._lines(server)
            return len(lines) >= 2 * vcpus
        if not test_utils.call_until_true(
                measured_twice, CONF.compute.build_timeout, 1):
            self.fail(f'The console has only these lines: {lines}')
        return {cpu: int(used) / int(passed)
                for cpu, used, passed in lines[vcpus:2 * vcpus]}

    def _gets(self, server, share, vcpus=1):
        measured = (self._of_threads(server) if CONF.nova_rt.kind == our_config.MACHINE
                    else self._in_container(server, vcpus))
        self.assertEqual(vcpus, len(measured), measured)
        for cpu, got in measured.items():
            self.assertLess(
                abs(got - share), CONF.nova_rt.tolerance,
                f'CPU {cpu} gave {got:.3f}, but {share:.3f} is reserved.')

    def _meter(self, *args, **more):
        return self.boot(
            self.flavor(*args), CONF.nova_rt.meter_image_ref, **more)

    @decorators.idempotent_id('1a9c7e5d-3b2f-4a8e-9d6c-0f1e2b3a4c21')
    def test_a_server_gets_what_its_flavor_reserves(self):
        self._gets(self._meter(60_000), 0.3)

    @decorators.idempotent_id('7c5e3a1b-9d8f-4c6b-8a2e-4d0f6b1c3e22')
    def test_neighbours_get_their_own_shares(self):
        first = self._meter(40_000)
        second = self._meter(40_000, hints={'cpu.rt_runtime_us': '80000'})
        self._gets(first, 0.2)
        self._gets(second, 0.4)

    @decorators.idempotent_id('4e2d0c8b-6a7f-4b5d-9c1e-8f3a5d7b0e23')
    def test_each_vcpu_gets_its_share(self):
        if max(host.pcpus for host in self.hosts()) < 2:
            raise self.skipException('No host has two pCPUs.')
        self._gets(self._meter(50_000, 2), 0.25, vcpus=2)
