# SPDX-License-Identifier: Apache-2.0
"""A domain's budget and metadata change together; libvirt's test driver."""

import threading
import types

import libvirt
from nova import exception
from nova.virt.libvirt import driver as nova_driver
from nova.virt.libvirt import guest as nova_guest
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt import domain_xml
from nova_rt.virt import driver
from nova_rt.virt.cgroup import tree


def holding(runtime_us):
    return ledger.Holding(
        reservation.Reservation(runtime_us, 100_000, 2), (0, 1))


SMALL, LARGE = holding(20_000), holding(60_000)


class Reservations:
    """Notes what is applied, or refuses it."""

    def __init__(self, refuses=None):
        self.applied = []
        self.refuses = refuses

    def apply(self, pid, wanted):
        if wanted == self.refuses:
            raise tree.KernelRefusalError('The kernel refused it.', 16)
        self.applied.append(wanted)


@pytest.fixture
def domain(monkeypatch):
    """A domain that runs and holds the small reservation."""
    monkeypatch.setattr(nova_driver, 'libvirt', libvirt)
    monkeypatch.setattr(nova_guest, 'libvirt', libvirt)
    connection = libvirt.open('test:///default')
    domain = connection.lookupByName('test')
    driver._change(Reservations(), nova_guest.Guest(domain), SMALL)
    yield domain
    connection.close()


def copies(domain):
    """Return what the domain says that it holds, now and when it starts."""
    return [domain_xml.holding_in(domain.XMLDesc(flags)) for flags in (
        0, libvirt.VIR_DOMAIN_XML_INACTIVE)]


def test_a_running_one_has_the_new_budget_and_says_so(domain):
    kernel = Reservations()
    driver._change(kernel, nova_guest.Guest(domain), LARGE)
    assert kernel.applied == [LARGE]
    assert copies(domain) == [LARGE, LARGE]


def test_a_stopped_one_says_it_for_its_next_start(domain):
    domain.destroy()
    kernel = Reservations()
    driver._change(kernel, nova_guest.Guest(domain), LARGE)
    assert kernel.applied == []
    assert copies(domain) == [LARGE, LARGE]


def test_what_the_kernel_refuses_is_not_said(domain):
    with pytest.raises(tree.KernelRefusalError):
        driver._change(Reservations(LARGE), nova_guest.Guest(domain), LARGE)
    assert copies(domain) == [SMALL, SMALL]


def test_what_libvirt_refuses_is_taken_back_from_the_kernel(domain):
    class Deaf:
        """A domain that takes no metadata."""

        def __getattr__(self, name):
            return getattr(domain, name)

        def setMetadata(self, *_):
            raise libvirt.libvirtError('no')
    kernel = Reservations()
    with pytest.raises(libvirt.libvirtError):
        driver._change(kernel, nova_guest.Guest(Deaf()), LARGE)
    assert kernel.applied == [LARGE, SMALL]
    assert copies(domain) == [SMALL, SMALL]


def test_all_that_may_go_wrong_is_one_kind_of_refusal(domain):
    case = types.SimpleNamespace(
        _copies=threading.Lock(),
        _host=types.SimpleNamespace(
            get_guest=lambda _: nova_guest.Guest(domain)),
        reservations=Reservations(LARGE))
    with pytest.raises(exception.ResizeError, match='The kernel refused'):
        driver.RTLibvirtDriver.change_reservation(case, None, LARGE)
