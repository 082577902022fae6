# SPDX-License-Identifier: Apache-2.0
"""What runs here, by libvirt's own stand-in for a hypervisor."""

import libvirt
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.metrics import servers
from nova_rt.virt import containers
from nova_rt.virt import domain_xml

HOLDING = ledger.Holding(reservation.Reservation(30_000, 100_000, 2), (1, 3))
PROJECT = '8b1c0e4dd7a64d6b9d3a4f0c6f6f2a11'
NOVAS = f"""\
<instance>
  <name>web</name>
  <owner><user uuid="u">demo</user><project uuid="{PROJECT}">demo</project></owner>
</instance>"""
_LIVE = libvirt.VIR_DOMAIN_AFFECT_LIVE


class Opened:
    """Opens libvirt's stand-in, or fails as libvirt does when its daemon is away."""

    def __init__(self):
        self.times = 0
        self.works = True

    def __call__(self):
        self.times += 1
        return libvirt.open('test:///default' if self.works else 'test:///away')


@pytest.fixture
def opened():
    return Opened()


@pytest.fixture
def domain():
    """The domain that runs in the stand-in, which every connection sees."""
    connection = libvirt.open('test:///default')
    domain = connection.lookupByName('test')
    yield domain
    connection.close()


def describe(domain, text, prefix, namespace):
    domain.setMetadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, text, prefix, namespace, _LIVE)


@pytest.fixture
def held(domain):
    describe(domain, domain_xml.metadata(HOLDING), domain_xml.PREFIX, domain_xml.NAMESPACE)
    return domain


def test_a_server_is_told_with_what_it_holds_and_whose_it_is(opened, held):
    describe(held, NOVAS, 'nova', 'http://openstack.org/xmlns/libvirt/nova/1.1')
    assert servers.Servers(opened).running() == [
        servers.Server(held.UUIDString(), PROJECT, held.ID(), HOLDING)]


def test_one_whose_domain_does_not_say_whose_it_is_belongs_to_nobody(opened, held):
    (found,) = servers.Servers(opened).running()
    assert found.project == ''


def test_a_domain_without_a_reservation_is_nobodys_business(opened, domain):
    assert servers.Servers(opened).running() == []


def test_metadata_that_are_not_valid_hide_their_domain_alone(opened, domain, caplog):
    describe(domain, '<reservation pcpus="x"/>', domain_xml.PREFIX, domain_xml.NAMESPACE)
    assert servers.Servers(opened).running() == []
    assert 'are not valid' in caplog.text


def test_the_connection_is_kept_and_opened_again_when_it_is_lost(opened, held):
    looked_at = servers.Servers(opened)
    looked_at.running()
    looked_at.running()
    assert opened.times == 1
    looked_at._connection.close()
    opened.works = False
    for _ in range(2):
        with pytest.raises(containers.UnreachableError, match='start libvirtd'):
            looked_at.running()
    opened.works = True
    assert len(looked_at.running()) == 1
