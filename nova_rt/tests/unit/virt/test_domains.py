# SPDX-License-Identifier: Apache-2.0
"""What libvirt's domains say is what the kernel holds; see also test_change."""

import logging
import types
from unittest import mock

import libvirt
from nova import exception
from nova.virt import event as virtevent
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt import usage
from nova_rt.virt import container_host
from nova_rt.virt import domain_xml
from nova_rt.virt import domains
from nova_rt.virt import host
from nova_rt.virt.cgroup import errors
from nova_rt.virt.deadline import errors as deadline_errors

HOLDING = ledger.Holding(reservation.Reservation(20_000, 100_000, 2), (0, 1))
DOMAIN = ('<domain><os><type>exe</type></os><devices/></domain>')
PAUSED = virtevent.LifecycleEvent('a-uuid', virtevent.EVENT_LIFECYCLE_PAUSED)
STARTED = virtevent.LifecycleEvent('a-uuid', virtevent.EVENT_LIFECYCLE_STARTED)
REFUSALS = [errors.KernelRefusalError('The kernel refused it.', 16),
            errors.MissingControlFileError('Its group has gone.'),
            ProcessLookupError('It has ended.'),
            host.UnavailableError('Nothing is offered.')]


def guest(pid, holding=HOLDING):
    xml = DOMAIN if holding is None else domain_xml.with_reservation(
        DOMAIN, holding, '/rt-init', None)
    return types.SimpleNamespace(id=pid, uuid='a-uuid', get_xml_desc=lambda: xml)


@pytest.fixture
def connection():
    return mock.Mock()


@pytest.fixture
def kernel():
    return mock.Mock(spec=container_host.ContainerHost)


@pytest.fixture
def ours(connection, kernel):
    return domains.DomainReservations(connection, kernel)


def test_the_running_containers_that_hold_something_are_reconciled(
        ours, connection, kernel):
    connection.list_guests.return_value = [
        guest(7), guest(8, None), guest(9)]
    ours.reconcile()
    kernel.reconcile.assert_called_once_with([(7, HOLDING), (9, HOLDING)])
    assert kernel.permit.mock_calls == [mock.call(7, 99), mock.call(9, 99)]


def test_what_a_server_got_is_read_by_what_its_domain_says(ours, connection, kernel):
    connection.get_guest.return_value = guest(7)
    kernel.usages.return_value = {'a-uuid': {0: usage.Usage(1)}}
    server = types.SimpleNamespace(uuid='a-uuid')
    assert ours.usage(server) == {0: usage.Usage(1)}
    kernel.usages.assert_called_once_with({'a-uuid': (7, HOLDING)})
    # It has just ended.
    kernel.usages.return_value = {}
    assert ours.usage(server) == {}


@pytest.mark.parametrize('found', [guest(-1), guest(7, None)])
def test_what_does_not_run_or_holds_nothing_got_nothing(ours, connection, kernel, found):
    connection.get_guest.return_value = found
    assert ours.usage(types.SimpleNamespace(uuid='a-uuid')) == {}
    connection.get_guest.side_effect = exception.InstanceNotFound(instance_id='a-uuid')
    assert ours.usage(types.SimpleNamespace(uuid='a-uuid')) == {}
    kernel.usages.assert_not_called()


def test_a_container_that_cannot_use_its_reservation_keeps_no_other_from_it(
        ours, connection, kernel, caplog):
    connection.list_guests.return_value = [guest(7), guest(9)]
    kernel.permit.side_effect = [errors.CgroupError('It may not.'), None]
    ours.reconcile()
    assert kernel.permit.call_count == 2
    assert 'cannot use its reservation: It may not.' in caplog.text


def test_a_server_that_starts_may_use_real_time_policies(ours, connection, kernel):
    connection.get_guest.return_value = guest(7)
    ours.apply(mock.Mock())
    assert kernel.mock_calls == [mock.call.apply(7, HOLDING), mock.call.permit(7, 99)]


@pytest.mark.parametrize('start', [
    lambda ours: ours.apply(mock.Mock()),
    lambda ours: ours.apply_after_event(STARTED)])
@pytest.mark.parametrize(('holding', 'calls'), [
    (HOLDING, [mock.call(7, HOLDING)]), (None, [])])
def test_a_container_that_started_gets_what_its_domain_says(
        ours, connection, kernel, start, holding, calls):
    connection.get_guest.return_value = guest(7, holding)
    start(ours)
    assert kernel.apply.mock_calls == calls


@pytest.mark.parametrize('refusal', REFUSALS)
def test_a_start_without_the_reservation_is_a_failed_deployment(
        ours, connection, kernel, refusal):
    connection.get_guest.return_value = guest(7)
    kernel.apply.side_effect = refusal
    with pytest.raises(exception.InstanceDeployFailure, match=str(refusal)):
        ours.apply(None)


@pytest.mark.parametrize('refusal', REFUSALS)
def test_a_container_that_restarted_without_its_reservation_is_in_the_log(
        ours, connection, kernel, refusal, caplog):
    caplog.set_level(logging.WARNING)
    connection.get_guest.return_value = guest(7)
    kernel.apply.side_effect = refusal
    ours.apply_after_event(STARTED)
    assert f'a-uuid has started without its reservation: {refusal}' in caplog.text


def test_a_container_that_is_gone_when_its_event_arrives_is_left(
        ours, connection, kernel):
    connection.get_guest.side_effect = exception.InstanceNotFound(
        instance_id='a-uuid')
    ours.apply_after_event(STARTED)
    kernel.apply.assert_not_called()


@pytest.mark.parametrize(('pid', 'group'), [(7, 'machine/web'), (-1, None)])
def test_only_a_running_container_has_a_group(
        ours, connection, kernel, pid, group):
    connection.get_guest.return_value = guest(pid)
    kernel.group_of.return_value = 'machine/web'
    assert ours.group_of(None) == group


def test_a_server_without_a_domain_has_no_group(ours, connection):
    connection.get_guest.side_effect = exception.InstanceNotFound(instance_id='u')
    assert ours.group_of(None) is None


@pytest.mark.parametrize(('group', 'call'), [
    ('machine/web', mock.call.take_back('machine/web')),
    (None, mock.call.take_back_all())])
def test_what_is_left_of_an_ended_container_is_taken_back(
        ours, kernel, group, call):
    ours.take_back(group)
    assert kernel.mock_calls == [call]


MACHINE = domain_xml.with_pinned_vcpus(
    '<domain type="kvm"><vcpu>2</vcpu></domain>', HOLDING)


class Arrived:
    """A virtual machine that libvirt has migrated here, as Nova sees it."""

    id = 7
    uuid = 'a-uuid'

    def __init__(self, state=libvirt.VIR_DOMAIN_PAUSED, left=domain_xml.RUNNING):
        self.xml = domain_xml.for_destination(MACHINE, HOLDING.pcpus, left)
        self.get_xml_desc = lambda: self.xml
        self._domain = mock.Mock()
        self._domain.state.return_value = [state, 1]
        self._domain.setMetadata.side_effect = self.note
        self.resume = mock.Mock()

    def note(self, kind, element, prefix, namespace, flags):
        self.xml = f'<domain><metadata>{element}</metadata></domain>'.replace(
            '<reservation', f'<reservation xmlns="{namespace}"')


def test_what_has_arrived_is_resumed_once_with_its_reservation(ours, connection, kernel):
    connection.get_guest.return_value = web = Arrived()
    kernel.apply.side_effect = lambda *args: web.resume.assert_not_called()
    ours.receive(mock.Mock())
    ours.receive(mock.Mock())
    ours.receive_after_event(PAUSED)
    kernel.apply.assert_called_once_with(7, HOLDING)
    web.resume.assert_called_once_with()
    assert domain_xml.holding_in(web.xml) == HOLDING


def test_what_was_paused_before_it_left_stays_so(ours, connection, kernel):
    connection.get_guest.return_value = web = Arrived(left=domain_xml.PAUSED)
    ours.receive(mock.Mock())
    ours.receive_after_event(PAUSED)
    kernel.apply.assert_called_once_with(7, HOLDING)
    web.resume.assert_not_called()


def test_what_runs_already_only_loses_its_mark(ours, connection, kernel):
    """nova-rt-compute was killed between the two."""
    web = Arrived(libvirt.VIR_DOMAIN_RUNNING)
    connection.list_guests.return_value = [web]
    ours.reconcile()
    web.resume.assert_not_called()
    assert domain_xml.arrives_from(web.xml) is None


def test_what_arrived_while_nobody_looked_is_resumed(ours, connection, kernel):
    web = Arrived()
    connection.list_guests.return_value = [web]
    ours.reconcile()
    web.resume.assert_called_once_with()


@pytest.mark.parametrize('refusal', REFUSALS)
def test_what_cannot_have_its_reservation_here_stays_paused(
        ours, connection, kernel, refusal, caplog):
    connection.get_guest.return_value = web = Arrived()
    kernel.apply.side_effect = refusal
    with pytest.raises(exception.InstanceDeployFailure, match='stays paused'):
        ours.receive(mock.Mock())
    ours.receive_after_event(PAUSED)
    assert f'a-uuid has arrived, but stays paused: {refusal}' in caplog.text
    web.resume.assert_not_called()
    assert domain_xml.arrives_from(web.xml) == domain_xml.RUNNING


def test_what_is_on_its_way_is_left_in_peace(ours, connection, kernel, caplog):
    caplog.set_level(logging.WARNING)
    connection.get_guest.return_value = Arrived()
    kernel.apply.side_effect = deadline_errors.MigratingError('It is on its way.')
    ours.apply_after_event(STARTED)
    ours.receive_after_event(PAUSED)
    assert not caplog.records
