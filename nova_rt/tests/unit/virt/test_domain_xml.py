# SPDX-License-Identifier: Apache-2.0
from lxml import etree
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt import domain_xml

DOMAIN = '''<domain type="lxc">
  <name>instance-1</name>
  <metadata><nova:instance xmlns:nova="urn:nova"/></metadata>
  <vcpu>2</vcpu>
  <os><type>exe</type><init>/sbin/init</init><cmdline>console</cmdline></os>
  <devices><filesystem type="mount"><source dir="/rootfs"/>
    <target dir="/"/></filesystem></devices>
</domain>'''
HOLDING = ledger.Holding(reservation.Reservation(40_000, 100_000, 3),
                         (3, 2, 0))


def changed(policy=None):
    return etree.fromstring(domain_xml.with_reservation(
        DOMAIN, HOLDING, '/lib/rt-init', policy))


def test_what_a_domain_holds_is_read_back_from_it():
    holding = domain_xml.holding_in(etree.tostring(changed()).decode())
    assert holding.reservation == HOLDING.reservation
    assert holding.pcpus == (0, 2, 3)


def test_a_domain_without_a_reservation_holds_nothing():
    assert domain_xml.holding_in(DOMAIN) is None


def test_metadata_without_sense_are_an_error():
    text = etree.tostring(changed()).decode().replace('40000', '-4')
    with pytest.raises(ValueError, match='runtime'):
        domain_xml.holding_in(text)


def test_the_container_is_confined_to_its_pcpus():
    vcpu = changed().find('vcpu')
    assert (vcpu.text, vcpu.get('cpuset')) == ('2', '0,2,3')


def test_init_is_started_by_rt_init_under_the_normal_policy():
    system = changed().find('os')
    assert [(e.tag, e.text) for e in system] == [
        ('type', 'exe'), ('init', '/.nova-rt-init'), ('initarg', 'other'),
        ('initarg', '0'), ('initarg', '/sbin/init'), ('cmdline', 'console')]


def test_init_is_started_under_the_policy_asked_for():
    system = changed(reservation.InitPolicy('rr', 30)).find('os')
    assert [e.text for e in system.findall('initarg')] == [
        'rr', '30', '/sbin/init']


@pytest.mark.parametrize('features', ['', '<features><privnet/></features>'])
def test_a_container_in_a_user_namespace_has_a_network_of_its_own(features):
    domain = DOMAIN.replace('<vcpu>', f'{features}<idmap/><vcpu>')
    changed = etree.fromstring(domain_xml.with_reservation(domain, HOLDING, '/rt-init', None))
    assert len(changed.findall('features/privnet')) == 1


def test_a_container_without_one_has_the_network_that_nova_gives_it():
    assert changed().find('features') is None


@pytest.mark.parametrize(('policy', 'highest'), [
    (None, 99), (reservation.InitPolicy('rr', 30), 30)])
def test_what_a_container_may_choose_is_the_priority_of_its_init_or_any(policy, highest):
    text = etree.tostring(changed(policy)).decode()
    assert domain_xml.highest_priority_in(text) == highest


def test_what_processes_choose_without_a_reservation_is_left_to_nova():
    assert domain_xml.highest_priority_in(DOMAIN) is None


def test_rt_init_is_bound_into_the_container_read_only():
    bind = changed().findall('devices/filesystem')[-1]
    assert bind.find('source').get('dir') == '/lib/rt-init'
    assert bind.find('target').get('dir') == '/.nova-rt-init'
    assert bind.find('readonly') is not None


def test_metadata_alone_say_the_same():
    changed = ledger.Holding(
        reservation.Reservation(50_000, 200_000, 2), (1, 2))
    domain = f'''<domain><metadata><rt:reservation
        xmlns:rt="{domain_xml.NAMESPACE}" {domain_xml.metadata(changed)
            .removeprefix('<reservation ')}</metadata></domain>'''
    assert domain_xml.holding_in(domain) == changed
