# SPDX-License-Identifier: Apache-2.0
"""Nova's steps of a live migration, with a reservation."""

from unittest import mock

import libvirt
from nova import exception
from nova import objects
from nova.virt.libvirt import guest as nova_guest
import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.instance import holdings
from nova_rt.virt import domain_xml
from nova_rt.virt import host
from nova_rt.virt import live_migration
from nova_rt.virt.deadline import errors

HOLDING = ledger.Holding(reservation.Reservation(20_000, 100_000, 2), (0, 1))
THERE = ledger.Holding(HOLDING.reservation, (4, 9))
XML = domain_xml.with_pinned_vcpus('<domain type="kvm"><vcpu>2</vcpu></domain>', HOLDING)
FLAVOR = {'hw:cpu.rt_runtime_us': '20000', 'hw:cpu.rt_period_us': '100000'}


@pytest.fixture(autouse=True)
def _objects():
    objects.register_all()


def server(flavor=FLAVOR):
    instance = objects.Instance(
        uuid='u', host='here', system_metadata={},
        flavor=objects.Flavor(vcpus=2, memory_mb=64, extra_specs=dict(flavor)))
    if flavor:
        holdings.set_pcpus(instance, HOLDING.pcpus)
        holdings.set_pcpus(instance, THERE.pcpus, holdings.NEW)
    return instance


@pytest.fixture
def data():
    return objects.LibvirtLiveMigrateData()


def test_nova_claims_where_both_hosts_say_that_they_can(data):
    live_migration.offer_claim(data)
    live_migration.accept_claim(data)
    assert data.src_supports_numa_live_migration


def test_a_destination_that_does_not_offer_to_claim_is_refused(data):
    with pytest.raises(exception.MigrationPreCheckError, match='offers no reservations'):
        live_migration.accept_claim(data)


def test_the_source_learns_what_the_destination_has_claimed(data):
    live_migration.note_claim(data, server())
    assert live_migration.claimed(data) == (4, 9)


def test_without_a_claim_nothing_is_sent(data):
    live_migration.note_claim(data, server({}))
    with pytest.raises(exception.MigrationPreCheckError, match='upgrade_levels'):
        live_migration.claimed(data)


def test_the_destinations_kernel_is_asked_before_anything_is_sent(data):
    live_migration.note_claim(data, server())
    kernel = mock.Mock(spec=host.Host)
    live_migration.try_out(kernel, server(), data)
    kernel.try_out.assert_called_once_with(THERE)
    kernel.try_out.side_effect = errors.RefusalError('It is full.', 16)
    with pytest.raises(exception.MigrationPreCheckError, match='It is full'):
        live_migration.try_out(kernel, server(), data)


@pytest.mark.parametrize(('state', 'left'), [
    (libvirt.VIR_DOMAIN_RUNNING, domain_xml.RUNNING),
    (libvirt.VIR_DOMAIN_PAUSED, domain_xml.PAUSED)])
def test_it_arrives_paused_and_marked_with_its_state(monkeypatch, state, left):
    migrate = mock.Mock()
    monkeypatch.setattr(nova_guest.Guest, 'migrate', migrate)
    domain = mock.Mock()
    domain.state.return_value = [state, 1]
    live_migration.LeavingGuest(nova_guest.Guest(domain), THERE.pcpus).migrate(
        'qemu://there', migrate_uri=None, destination_xml=XML,
        flags=libvirt.VIR_MIGRATE_LIVE | libvirt.VIR_MIGRATE_AUTO_CONVERGE
        | libvirt.VIR_MIGRATE_POSTCOPY)
    (destination,), sent = migrate.call_args
    assert destination == 'qemu://there'
    assert sent['flags'] == libvirt.VIR_MIGRATE_LIVE | libvirt.VIR_MIGRATE_PAUSED
    assert domain_xml.holding_in(sent['destination_xml']) == THERE
    assert domain_xml.arrives_from(sent['destination_xml']) == left
    assert '<vcpupin vcpu="0" cpuset="4"/><vcpupin vcpu="1" cpuset="9"/>' in (
        sent['destination_xml'])
    assert sent['migrate_uri'] is None


def jobs(*kinds):
    domain = mock.Mock()
    domain.jobInfo.side_effect = [
        kind if isinstance(kind, Exception) else [kind] for kind in kinds]
    return nova_guest.Guest(domain)


class LibvirtError(libvirt.libvirtError):

    def __init__(self, code):
        super().__init__('no')
        self.get_error_code = lambda: code


@pytest.fixture
def no_pauses(monkeypatch):
    monkeypatch.setattr(live_migration.time, 'sleep', lambda seconds: None)


@pytest.mark.parametrize(('kinds', 'stayed'), [
    ((libvirt.VIR_DOMAIN_JOB_NONE,), True),
    ((libvirt.VIR_DOMAIN_JOB_UNBOUNDED, libvirt.VIR_DOMAIN_JOB_NONE), True),
    ((LibvirtError(libvirt.VIR_ERR_OPERATION_INVALID),), True),
    ((libvirt.VIR_DOMAIN_JOB_UNBOUNDED, LibvirtError(libvirt.VIR_ERR_NO_DOMAIN)), False)])
def test_what_becomes_of_one_on_its_way_is_awaited(no_pauses, kinds, stayed):
    assert live_migration.has_stayed(jobs(*kinds)) == stayed


def test_one_that_is_on_its_way_for_ever_is_an_error(no_pauses, monkeypatch):
    monkeypatch.setattr(live_migration, '_PATIENCE_S', -1)
    with pytest.raises(exception.InternalError, match='has not ended the migration'):
        live_migration.has_stayed(jobs(libvirt.VIR_DOMAIN_JOB_UNBOUNDED))
