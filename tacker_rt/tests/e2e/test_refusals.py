# SPDX-License-Identifier: Apache-2.0
"""What Tacker answers to a VNF that cannot be."""

import pytest

from tacker_rt.tests.e2e.heat import HINTS
from tacker_rt.tests.e2e.vnf import STANDARD

RUNTIME = "cpu.rt_runtime_us: '30000'"


@pytest.mark.parametrize(('wrong', 'sentence'), [
    ("cpu.rt_runtim_us: '30000'", 'write cpu.rt_runtime_us.'),
    ("cpu.rt_runtime_us: '300000'",
     'The runtime of 300000 \\xc2\\xb5s is longer than the period of 100000'),
])
def test_a_bad_descriptor_fails_with_one_sentence_and_makes_no_server(
        operator, observer, wrong, sentence):
    vnf = operator.create(operator.onboard('standard', {RUNTIME: wrong}))
    vnf.try_to_instantiate(**STANDARD)
    assert sentence in vnf.failure()
    # As Tacker shows what a process printed.
    assert vnf.failure().startswith('b"tacker_rt.problems.InvalidDescriptorError: ')
    assert not list(observer.cloud.compute.servers(all_projects=True))


def test_what_no_host_may_give_fails_with_what_to_write(operator):
    vnf = operator.create(operator.onboard(
        'standard', {RUNTIME: "cpu.rt_runtime_us: '96000'"}))
    vnf.try_to_instantiate(**STANDARD)
    assert 'lower cpu.rt_runtime_us to 95000' in vnf.failure()


def test_a_vnf_without_room_fails_with_what_lacks(operator, owner):
    owner.create(HINTS, image='busybox', flavor='vnf', runtime_us=60_000)
    vnf = operator.create(operator.onboard(
        'standard', {RUNTIME: "cpu.rt_runtime_us: '50000'"}))
    vnf.try_to_instantiate(**STANDARD)
    assert '35% left and lacks 15%' in vnf.failure()
