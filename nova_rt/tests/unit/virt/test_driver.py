# SPDX-License-Identifier: Apache-2.0
import errno
import types
from unittest import mock

from nova import exception
from nova.virt import event as virtevent
from nova.virt.libvirt import driver as nova_driver
import pytest

from nova_rt.virt import domains
from nova_rt.virt import driver
from nova_rt.virt import workarounds


class LibvirtError(Exception):

    def get_error_code(self):
        return self.args[0]

    def get_int1(self):
        return self.args[1]


@pytest.fixture(autouse=True)
def libvirt(monkeypatch):
    monkeypatch.setattr(nova_driver, 'libvirt', types.SimpleNamespace(
        libvirtError=LibvirtError, VIR_ERR_NO_DOMAIN=42,
        VIR_ERR_SYSTEM_ERROR=38))


def guest(answer):
    def get_xml_desc():
        if isinstance(answer, Exception):
            raise answer
        return answer
    return types.SimpleNamespace(uuid='a-uuid', get_xml_desc=get_xml_desc)


def test_a_domain_deleted_since_it_was_listed_holds_nothing():
    assert domains.holding_in(guest(LibvirtError(42))) is None


def test_a_libvirt_that_is_away_is_not_taken_for_an_empty_host():
    with pytest.raises(LibvirtError):
        domains.holding_in(guest(LibvirtError(38)))


def test_a_domain_that_is_not_ours_holds_nothing():
    assert domains.holding_in(guest('<domain/>')) is None


def destroy(monkeypatch, *answers):
    """Destroy a domain; return how often libvirt did, and what was taken back."""
    destroy_in_nova = mock.Mock(side_effect=answers)
    monkeypatch.setattr(
        nova_driver.LibvirtDriver, '_destroy', lambda driver, instance: destroy_in_nova())
    ours = driver.RTLibvirtDriver.__new__(driver.RTLibvirtDriver)
    ours._domains = mock.Mock(group_of=lambda instance: 'group')
    ours._destroy(None)
    return destroy_in_nova.call_count, ours._domains.take_back.call_args_list


def started(refusal):
    """Start a container that is refused its reservation; return the driver."""
    ours = driver.RTLibvirtDriver.__new__(driver.RTLibvirtDriver)
    ours._domains = mock.Mock()
    ours._domains.apply.side_effect = refusal
    ours._destroy = mock.Mock()
    with mock.patch.object(nova_driver.LibvirtDriver, '_create_guest'), (
            pytest.raises(type(refusal))):
        ours._create_guest(None, '<domain/>', mock.sentinel.instance)
    return ours


@pytest.mark.parametrize('refusal', [
    exception.InstanceDeployFailure(reason='no room'), LibvirtError(38),
    exception.InternalError(err='libvirt does not answer'),
    exception.HypervisorUnavailable(host='host1'), OSError(errno.EMFILE, 'Too many open files')])
def test_a_container_that_cannot_have_its_reservation_is_ended(refusal):
    ours = started(refusal)
    ours._destroy.assert_called_once_with(mock.sentinel.instance)


def test_a_container_whose_group_vanishes_meanwhile_is_ended(monkeypatch):
    gone = (LibvirtError(38, errno.ENOENT), LibvirtError(38, errno.ENODEV))
    assert destroy(monkeypatch, *gone, None) == (3, [mock.call('group')])


def test_what_else_libvirt_refuses_is_raised_at_once(monkeypatch):
    for refusal in (LibvirtError(38, errno.EIO), LibvirtError(42, -1)):
        with pytest.raises(LibvirtError):
            destroy(monkeypatch, refusal)


def test_a_group_that_never_ceases_to_vanish_is_an_error_in_the_end(monkeypatch):
    with pytest.raises(LibvirtError):
        destroy(monkeypatch, *[LibvirtError(38, errno.ENOENT)] * workarounds.ENDS)


def test_nova_hears_of_an_event_with_which_we_could_do_nothing(monkeypatch, caplog):
    """libvirt went away, and the event may be the last of a server that Nova stops."""
    heard = []
    monkeypatch.setattr(nova_driver.LibvirtDriver, 'emit_event',
                        lambda driver, event: heard.append(event))
    ours = driver.RTLibvirtDriver.__new__(driver.RTLibvirtDriver)
    ours._domains = mock.Mock()
    ours._domains.apply_after_event.side_effect = exception.InternalError(err='libvirt is away')
    event = virtevent.LifecycleEvent('a-uuid', virtevent.EVENT_LIFECYCLE_STARTED)
    ours.emit_event(event)
    assert heard == [event]
    assert 'a-uuid' in caplog.text
