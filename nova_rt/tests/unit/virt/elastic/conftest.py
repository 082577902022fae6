# SPDX-License-Identifier: Apache-2.0

import pytest

from nova_rt import shares
from nova_rt.testing import fake_kernel
from nova_rt.testing.elastic_servers import CAP
from nova_rt.testing.elastic_servers import HALF
from nova_rt.testing.elastic_servers import PCPUS
from nova_rt.testing.elastic_servers import reservations
from nova_rt.testing.elastic_servers import soon
from nova_rt.virt import container_host
from nova_rt.virt import loans
from nova_rt.virt import shrinks
from nova_rt.virt.cgroup import detect


@pytest.fixture
def kernel():
    return fake_kernel.FakeKernel(PCPUS, multi=True)


@pytest.fixture
def book(tmp_path):
    return loans.Loans(tmp_path / 'loans')


@pytest.fixture
def shrunk(book):
    """Return the book of those who are shrunk."""
    return shrinks.Shrinks(book.folder)


@pytest.fixture
def open_host(kernel, book):
    """Return this host as a service that starts now would have it."""
    def opened():
        found = detect.detect(kernel, kernel.count)
        return container_host.ContainerHost(found, shares.HostShares.empty(
            [CAP] * kernel.count, found.occupancy), book=book)
    return opened


@pytest.fixture
def machine(open_host):
    return open_host()


@pytest.fixture
def run(kernel, machine):
    def run(pid, what):
        kernel.start(pid, f'machine/{pid}')
        machine.apply(pid, what)
    return run


@pytest.fixture
def run_two(run):
    return lambda: [run(pid, each) for pid, each in reservations()]


@pytest.fixture
def has(kernel):
    """Return what a container has, by pCPU in percent."""
    def has(pid):
        return kernel.percents(f'machine/{pid}')
    return has


@pytest.fixture
def lend(machine):
    def lend(pid, most=HALF, until_s=None):
        return machine.lend(pid, most, until_s or soon(), shrink=True)
    return lend
