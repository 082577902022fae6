# SPDX-License-Identifier: Apache-2.0
"""The stand-ins for kernels, in the tests that real kernels pass."""

import pytest

from nova_rt.testing import conformance
from nova_rt.testing import fake_hcbs
from nova_rt.testing import fake_kernel
from nova_rt.virt.cgroup import detect

TOP = 'playground'
KERNELS = {
    'rt-group': lambda: fake_kernel.FakeKernel(),
    'hcbs-multi': lambda: fake_kernel.FakeKernel(multi=True),
    'hcbs-multi on version 2': lambda: fake_hcbs.FakeMultiKernel(),
    'hcbs-list': lambda: fake_hcbs.FakeListKernel(),
    'hcbs-max': lambda: fake_hcbs.FakeMaxKernel(),
    'hcbs-max by cpuset': lambda: fake_hcbs.FakeCpusetKernel(),
}


@pytest.fixture(params=KERNELS)
def playground(request):
    kernel = KERNELS[request.param]()
    detected = detect.detect(kernel, kernel.count)
    assert detected.name == request.param.split()[0]
    kernel.make(TOP)
    # As an operator does, where a new group has no budget of its own.
    place = conformance.FakePlayground(detected, TOP, 100_000)
    place.write(TOP, 0)
    return place


class TestStandIns(conformance.Conformance):
    """All of them."""
