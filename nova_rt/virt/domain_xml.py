# SPDX-License-Identifier: Apache-2.0
"""What a reservation adds to a libvirt domain.

The domain's metadata is a copy of what Nova's instance says, so that a budget
can be applied at every start, even one that Nova did not ask for.
"""

from collections.abc import Sequence

from lxml import etree

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import errors
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.virt.rt_init import program

NAMESPACE = 'urn:nova-rt:reservation:1'
PREFIX = 'rt'
# What rt-init is called with if no policy is asked for.
_NO_POLICY = 'other'
# So that it differs from what is not written down, as it was before.
_NO_CRITICALITY = 'none'
_TAG = f'{{{NAMESPACE}}}reservation'
# Marks a virtual machine that is migrated live, with what it does where it comes from.
_ARRIVES = 'arrives'
RUNNING = 'running'
PAUSED = 'paused'


class ContradictionError(errors.NovaRTError):
    """A domain cannot have a reservation with what else it has; says what to change."""


def with_reservation(xml: str, holding: ledger.Holding, rt_init: str,
                     policy: reservation.InitPolicy | None) -> str:
    """Return a domain whose init waits for its reservation.

    The container is confined to its pCPUs, rt-init is bound into it and
    started in place of its init, and the metadata say what it holds. In a user
    namespace it has a network namespace too.

    :param xml: an LXC domain as Nova writes it
    :param rt_init: the path of rt-init on the host
    :param policy: that its init is started under, None for SCHED_OTHER
    """
    domain = etree.fromstring(xml)
    _confine(domain, holding.pcpus)
    _wrap_init(domain, policy)
    _bind(domain, rt_init)
    _give_own_network(domain)
    _describe(domain, holding)
    return _text(domain)


def with_pinned_vcpus(xml: str, holding: ledger.Holding) -> str:
    """Return a virtual machine's domain whose vCPUs are pinned to its pCPUs.

    What they have there is nova-rt's to set: libvirt knows SCHED_FIFO and SCHED_RR
    only. QEMU's other threads stay where Nova puts them.

    :param xml: a QEMU domain as Nova writes it
    :raises ContradictionError: if Nova has given the vCPUs pCPUs or a policy itself, or
        their number is not the reservation's
    """
    domain = etree.fromstring(xml)
    vcpus = int(_child(domain, 'vcpu').text or 0)
    if vcpus != len(holding.pcpus):
        raise ContradictionError(
            f'The virtual machine has {vcpus} vCPU(s), but its reservation has '
            f'{len(holding.pcpus)} pCPU(s): resize or migrate the server.')
    tune = _child(domain, 'cputune')
    if tune.find('vcpupin') is not None or tune.find('vcpusched') is not None:
        raise ContradictionError(
            'A virtual machine with a reservation cannot have CPUs pinned by Nova, a NUMA '
            'topology or hw:cpu_realtime as well: remove hw:cpu_policy, hw:numa_nodes, '
            'hw:mem_page_size and hw:cpu_realtime from the flavor, and their hw_ '
            'properties from the image.')
    for number, pcpu in enumerate(sorted(holding.pcpus)):
        etree.SubElement(tune, 'vcpupin', vcpu=str(number), cpuset=str(pcpu))
    _describe(domain, holding)
    return _text(domain)


def for_destination(xml: str, pcpus: Sequence[int], state: str) -> str:
    """Return a virtual machine's domain as the host that it is migrated to shall have it.

    :param xml: the domain of :func:`with_pinned_vcpus`, as it is where it runs
    :param pcpus: those of the destination
    :param state: :data:`RUNNING` or :data:`PAUSED`, before it leaves
    """
    domain = etree.fromstring(xml)
    for pin in domain.findall('cputune/vcpupin'):
        pin.set('cpuset', str(sorted(pcpus)[int(pin.get('vcpu', ''))]))
    described = _child(domain, f'metadata/{_TAG}')
    described.set('pcpus', ledger.to_mask(pcpus))
    described.set(_ARRIVES, state)
    return _text(domain)


def arrives_from(xml: str) -> str | None:
    """Return in which state a virtual machine left that waits for its reservation here.

    :returns: :data:`RUNNING` or :data:`PAUSED`; None if it does not arrive
    """
    element = etree.fromstring(xml).find(f'metadata/{_TAG}')
    return None if element is None else element.get(_ARRIVES)


def holding_in(xml: str) -> ledger.Holding | None:
    """Return what a domain's metadata say, None if it holds nothing.

    :raises ValueError: if the metadata are there but not valid
    """
    element = etree.fromstring(xml).find(f'metadata/{_TAG}')
    return None if element is None else _holding_of(element)


def holding_of(metadata: str) -> ledger.Holding:
    """Return what the metadata alone say, as libvirt's metadata() returns them.

    :raises ValueError: if they are not valid
    """
    return _holding_of(etree.fromstring(metadata))


def highest_priority_in(xml: str) -> int | None:
    """Return the highest real-time priority that a container's processes may choose.

    It is that of the policy which its init is started under, without one the kernel's
    highest. None if the domain is not a container with a reservation.
    """
    domain = etree.fromstring(xml)
    if domain.find(f'metadata/{_TAG}') is None or (
            domain.findtext('os/init') != program.INSIDE):
        return None
    policy, priority = [element.text for element in domain.findall('os/initarg')[:2]]
    return reservation.MAX_PRIORITY if policy == _NO_POLICY else int(priority or '')


def metadata(holding: ledger.Holding) -> str:
    """Return the metadata alone, as libvirt's setMetadata() takes them."""
    return _text(etree.Element('reservation', **_attributes(holding)))


def _confine(domain: etree._Element, pcpus: tuple[int, ...]) -> None:
    vcpu = _child(domain, 'vcpu')
    vcpu.set('placement', 'static')
    vcpu.set('cpuset', ','.join(map(str, sorted(pcpus))))


def _wrap_init(domain: etree._Element,
               policy: reservation.InitPolicy | None) -> None:
    init = _child(_child(domain, 'os'), 'init')
    arguments = [_NO_POLICY, '0'] if policy is None else [
        policy.policy, str(policy.priority)]
    arguments.append(init.text or '/sbin/init')
    init.text = program.INSIDE
    for argument in reversed(arguments):
        element = etree.Element('initarg')
        element.text = argument
        init.addnext(element)


def _bind(domain: etree._Element, rt_init: str) -> None:
    bind = etree.SubElement(_child(domain, 'devices'), 'filesystem',
                            type='mount')
    etree.SubElement(bind, 'source', dir=rt_init)
    etree.SubElement(bind, 'target', dir=program.INSIDE)
    etree.SubElement(bind, 'readonly')


def _give_own_network(domain: etree._Element) -> None:
    """Give a container in a user namespace a network of its own.

    Without an interface, which Nova allows, libvirt gives it none, so it may not mount
    sysfs, and does not start.
    """
    if domain.find('idmap') is not None:
        features = _child(domain, 'features')
        if features.find('privnet') is None:
            etree.SubElement(features, 'privnet')


def _describe(domain: etree._Element, holding: ledger.Holding) -> None:
    etree.SubElement(
        _child(domain, 'metadata'), _TAG, nsmap={PREFIX: NAMESPACE},
        **_attributes(holding))


def _holding_of(element: etree._Element) -> ledger.Holding:
    pcpus = ledger.from_mask(element.get('pcpus', ''))
    return ledger.Holding(
        reservation.Reservation(int(element.get('runtime_us', '')),
                                int(element.get('period_us', '')), len(pcpus)),
        pcpus, _terms_of(element))


def _terms_of(element: etree._Element) -> elastic.Terms:
    letter, least_us = element.get('criticality'), element.get('min_runtime_us')
    return elastic.Terms(
        None if letter in (None, _NO_CRITICALITY) else criticality.parse('criticality', letter),
        None if least_us is None else int(least_us), letter is not None)


def _attributes(holding: ledger.Holding) -> dict[str, str]:
    said, terms = {}, holding.terms
    if terms.known:
        said['criticality'] = (
            _NO_CRITICALITY if terms.criticality is None else terms.criticality.name)
    if terms.min_runtime_us is not None:
        said['min_runtime_us'] = str(terms.min_runtime_us)
    return {'runtime_us': str(holding.reservation.runtime_us),
            'period_us': str(holding.reservation.period_us),
            'pcpus': ledger.to_mask(holding.pcpus), **said}


def _child(parent: etree._Element, tag: str) -> etree._Element:
    child = parent.find(tag)
    return etree.SubElement(parent, tag) if child is None else child


def _text(element: etree._Element) -> str:
    text: str = etree.tostring(element, encoding='unicode')
    return text
