# SPDX-License-Identifier: Apache-2.0
"""A domain's budget and metadata change together; libvirt's test driver."""

import types
from unittest import mock

import libvirt
from nova import exception
from nova.virt.libvirt import driver as nova_driver
from nova.virt.libvirt import guest as nova_guest
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt import domain_xml
from nova_rt.virt import domains
from nova_rt.virt import host
from nova_rt.virt.cgroup import errors


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
            raise errors.KernelRefusalError('The kernel refused it.', 16)
        self.applied.append(wanted)


@pytest.fixture
def domain(monkeypatch):
    """A domain that runs and holds the small reservation."""
    monkeypatch.setattr(nova_driver, 'libvirt', libvirt)
    monkeypatch.setattr(nova_guest, 'libvirt', libvirt)
    connection = libvirt.open('test:///default')
    domain = connection.lookupByName('test')
    change(domain, Reservations(), SMALL)
    yield domain
    connection.close()


def change(domain, kernel, wanted):
    """Give a domain another reservation, as the driver does."""
    connection = types.SimpleNamespace(
        get_guest=lambda instance: nova_guest.Guest(domain))
    domains.DomainReservations(connection, kernel).change(None, wanted)


def copies(domain):
    """Return what the domain says that it holds, now and when it starts."""
    return [domain_xml.holding_in(domain.XMLDesc(flags)) for flags in (
        0, libvirt.VIR_DOMAIN_XML_INACTIVE)]


def test_a_running_one_has_the_new_budget_and_says_so(domain):
    kernel = Reservations()
    change(domain, kernel, LARGE)
    assert kernel.applied == [LARGE]
    assert copies(domain) == [LARGE, LARGE]


def test_a_stopped_one_says_it_for_its_next_start(domain):
    domain.destroy()
    kernel = Reservations()
    change(domain, kernel, LARGE)
    assert kernel.applied == []
    assert copies(domain) == [LARGE, LARGE]


def test_what_the_kernel_refuses_is_not_said(domain):
    with pytest.raises(exception.ResizeError, match='The kernel refused'):
        change(domain, Reservations(LARGE), LARGE)
    assert copies(domain) == [SMALL, SMALL]


def test_what_libvirt_refuses_is_taken_back_from_the_kernel(domain):
    class Deaf:
        """A domain that takes no metadata."""

        def __getattr__(self, name):
            return getattr(domain, name)

        def setMetadata(self, *_):
            raise libvirt.libvirtError('no')
    kernel = Reservations()
    with pytest.raises(exception.ResizeError, match='no'):
        change(Deaf(), kernel, LARGE)
    assert kernel.applied == [LARGE, SMALL]
    assert copies(domain) == [SMALL, SMALL]


def test_all_that_may_go_wrong_is_one_kind_of_refusal(domain):
    refusals = (errors.KernelRefusalError('The kernel refused it.', 16),
                errors.MissingControlFileError('It has gone.'),
                ProcessLookupError('It has ended.'),
                host.UnavailableError('Nothing is offered.'))
    for refusal in refusals:
        kernel = mock.Mock()
        kernel.apply.side_effect = refusal
        with pytest.raises(exception.ResizeError, match=str(refusal)):
            change(domain, kernel, LARGE)


def test_a_server_without_a_domain_here_is_left_to_its_next_start():
    connection = mock.Mock()
    connection.get_guest.side_effect = exception.InstanceNotFound(instance_id='u')
    kernel = Reservations()
    domains.DomainReservations(connection, kernel).change(None, LARGE)
    assert kernel.applied == []
