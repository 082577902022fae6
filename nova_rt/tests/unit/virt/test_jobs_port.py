# SPDX-License-Identifier: Apache-2.0
"""The port of a domain; that libvirt makes it so is tested in e2e/machines."""

from lxml import etree

from nova_rt.virt import jobs_port

DOMAIN = ('<domain type="kvm"><devices><channel type="unix"><source mode="bind" path="/agent"/>'
          '<target type="virtio" name="org.qemu.guest_agent.0"/></channel></devices></domain>')
RUNNING = jobs_port.with_port(DOMAIN).replace(
    '<source mode="bind"/>', '<source mode="bind" path="/channel/jobs"/>')


def test_the_port_stands_beside_what_nova_has_and_names_no_path():
    agent, ours = etree.fromstring(jobs_port.with_port(DOMAIN)).findall('devices/channel')
    assert agent.find('source').get('path') == '/agent'
    assert ours.get('type') == 'unix'
    assert dict(ours.find('source').attrib) == {'mode': 'bind'}
    assert dict(ours.find('target').attrib) == {
        'type': 'virtio', 'name': 'org.nova_rt.jobs.0'}


def test_a_domain_has_it_once():
    assert jobs_port.with_port(RUNNING) == RUNNING


def test_a_domain_without_devices_gets_it():
    assert etree.fromstring(jobs_port.with_port('<domain/>')).find(
        'devices/channel/target') is not None


def test_its_path_is_that_of_the_domain_that_runs():
    assert jobs_port.path_in(RUNNING) == '/channel/jobs'
    assert jobs_port.path_in(jobs_port.with_port(DOMAIN)) is None
    assert jobs_port.path_in(DOMAIN) is None
    assert jobs_port.path_in('<domain type="lxc"/>') is None
