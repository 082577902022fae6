# SPDX-License-Identifier: Apache-2.0
"""Tacker's plug-in: which alerts are answered by a raise, and which Tacker heals.

Its own class, schema, objects and lock are the real ones; its database and the VIM are fakes.
"""

import datetime
import types
from unittest import mock

from oslo_config import fixture as config_fixture
import pytest
from tacker import context
from tacker.common import coordination
import tacker.conf
from tacker.sol_refactored import objects
from tacker.sol_refactored.common import exceptions
from tacker.sol_refactored.common import lcm_op_occ_utils
from tacker.sol_refactored.common import monitoring_plugin_base
from tacker.sol_refactored.common import prometheus_plugin
from tacker.sol_refactored.common import vnf_instance_utils

from nova_rt import reservation
from tacker_rt import auto_healing
from tacker_rt import raising
from tacker_rt import vim_compute

objects.register_all()

OWN = {'receiver_type': 'tacker', 'function_type': 'auto_heal'}
# As Tacker's own rules have it.
HEAL = {**OWN, 'vnf_instance_id': 'vnf-1', 'vnfc_info_id': 'vnfc-1'}
RAISE = {**OWN, 'remedy': 'raise', 'server': 'server-1'}


class FakeCompute:
    """A VIM with one server, which is what Nova would tell of it."""

    def __init__(self):
        self.runtime_us, self.most_us = 30_000, 60_000
        self.asked_at = None
        self.busy = self.gone = False
        self.done = []
        self.refusal = self.trouble = None

    def show(self, server):
        if self.trouble:
            raise self.trouble
        self.done.append('show')
        return None if self.gone else raising.Server(
            'ACTIVE', self.busy, reservation.Reservation(self.runtime_us, 100_000, 1),
            reservation.Reservation(self.most_us, 100_000, 1), self.asked_at)

    def mark(self, server, now):
        self.done.append('mark')
        self.asked_at = now

    def set_runtime(self, server, runtime_us):
        self.done.append(runtime_us)
        if self.refusal:
            self.busy = self.refusal == 'busy'
            raise vim_compute.RefusedError(f'{self.refusal}.')
        self.runtime_us = runtime_us

    def time_passes(self):
        self.asked_at -= datetime.timedelta(seconds=301)


def vnf_instance(**different):
    return objects.VnfInstanceV2.from_dict({
        'id': 'vnf-1', 'instantiationState': 'INSTANTIATED',
        'vnfConfigurableProperties': {'isAutohealEnabled': True},
        'vimConnectionInfo': {'vim': {'vimType': 'ETSINFV.OPENSTACK_KEYSTONE.V_3'}},
        'instantiatedVnfInfo': {
            'vnfcInfo': [{'id': 'vnfc-1', 'vduId': 'VDU_RT', 'vnfcResourceInfoId': 'res-1'}],
            'vnfcResourceInfo': [{
                'id': 'res-1', 'vduId': 'VDU_RT', 'computeResource': {'resourceId': 'server-1'}}]},
        **different})


@pytest.fixture
def config(tmp_path, monkeypatch):
    with config_fixture.Config(tacker.conf.CONF) as fixture:
        fixture.config(auto_healing=True, group='prometheus_plugin')
        fixture.config(raise_percent=25, raise_wait=300, when_refused='leave', group='nova_rt')
        # As tacker-server's own, with locks of its own.
        coordinator = coordination.Coordinator('test', '')
        fixture.config(backend_url=f'file://{tmp_path}', group='coordination')
        monkeypatch.setattr(coordination, 'COORDINATOR', coordinator)
        yield fixture


@pytest.fixture
def compute(monkeypatch):
    made = FakeCompute()
    monkeypatch.setattr(vim_compute, 'Compute', lambda vim: made)
    return made


class World:
    """Tacker around the plug-in.

    :ivar vnfs: what its database has
    :ivar healed: the VNFCs that its conductor was asked to heal
    """

    def __init__(self):
        self.vnfs = [vnf_instance()]
        self.healed = []

    def get_inst(self, _, ident):
        for vnf in self.vnfs:
            if vnf.id == ident:
                return vnf
        raise exceptions.VnfInstanceNotFound(inst_id=ident)


@pytest.fixture
def world(config, compute, monkeypatch):
    made = World()
    monkeypatch.setattr(vnf_instance_utils, 'get_inst_all', lambda _: made.vnfs)
    monkeypatch.setattr(vnf_instance_utils, 'get_inst', made.get_inst)
    monkeypatch.setattr(lcm_op_occ_utils, 'check_lcmocc_in_progress', lambda *_: None)
    monkeypatch.setattr(prometheus_plugin.PrometheusPluginAutoHealing, '_instance', None)
    plugin = monitoring_plugin_base.MonitoringPlugin.get_instance(
        monitoring_plugin_base.get_class('tacker_rt.auto_healing', 'AutoHealing'))
    plugin.set_callback(lambda _, vnf, vnfc: made.healed.append((vnf, vnfc)))

    def alert(*labels, status='firing'):
        plugin.alert(request=types.SimpleNamespace(context=context.get_admin_context()), body={
            'alerts': [{'status': status, 'labels': dict(each), 'annotations': {},
                        'startsAt': '2026-11-27T01:00:00Z', 'fingerprint': '1'}
                       for each in labels]})
    made.alert = alert
    return made


def test_without_the_option_nothing_is_done(config, monkeypatch):
    config.config(auto_healing=False, group='prometheus_plugin')
    monkeypatch.setattr(prometheus_plugin.PrometheusPluginAutoHealing, '_instance', None)
    assert isinstance(auto_healing.AutoHealing.instance(),
                      monitoring_plugin_base.MonitoringPluginStub)


def test_there_is_one_of_it_only(world):
    assert auto_healing.AutoHealing.instance() is auto_healing.AutoHealing.instance()


def test_it_is_raised_and_not_healed(world, compute):
    world.alert(RAISE)
    assert compute.done == ['show', 'mark', 37_500]
    assert world.healed == []


def test_an_alert_that_repeats_raises_it_once(world, compute):
    for _ in range(3):
        world.alert(RAISE, RAISE)
    assert compute.runtime_us == 37_500
    assert world.healed == []


def test_a_tacker_that_was_restarted_knows_of_the_raise(world, compute, monkeypatch):
    world.alert(RAISE)
    monkeypatch.setattr(prometheus_plugin.PrometheusPluginAutoHealing, '_instance', None)
    auto_healing.AutoHealing.instance()
    world.alert(RAISE)
    assert compute.runtime_us == 37_500


def test_only_when_it_has_all_and_misses_still_it_is_healed(world, compute):
    for expected in (37_500, 46_875, 58_593, 60_000):
        world.alert(RAISE)
        assert compute.runtime_us == expected
        compute.time_passes()
        assert world.healed == []
    world.alert(RAISE)
    assert compute.runtime_us == 60_000
    assert world.healed == [('vnf-1', 'vnfc-1')]


@pytest.mark.parametrize(('what', 'healed'), [('leave', []), ('heal', [('vnf-1', 'vnfc-1')])])
def test_what_is_refused_is_healed_or_left_alone_as_the_operator_says(
        world, compute, config, what, healed):
    config.config(when_refused=what, group='nova_rt')
    compute.refusal = 'pCPU 0 lacks 25%'
    world.alert(RAISE)
    assert world.healed == healed
    # It is asked for again when the time is over, not before.
    world.alert(RAISE)
    assert compute.done.count(37_500) == 1
    compute.time_passes()
    world.alert(RAISE)
    assert compute.done.count(37_500) == 2


def test_a_refusal_for_what_somebody_else_does_to_it_is_none(world, compute, config):
    config.config(when_refused='heal', group='nova_rt')
    compute.refusal = 'busy'
    world.alert(RAISE)
    assert world.healed == []


def test_a_process_that_ends_before_the_raise_makes_the_next_one_wait(
        world, compute, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(compute, 'set_runtime', mock.Mock(side_effect=SystemExit))
        with pytest.raises(SystemExit):
            world.alert(RAISE)
    world.alert(RAISE)
    assert compute.runtime_us == 30_000
    compute.time_passes()
    world.alert(RAISE)
    assert compute.runtime_us == 37_500


def test_a_vim_that_does_not_answer_is_asked_again_and_others_are_helped(world, compute):
    compute.trouble = vim_compute.UnansweredError('No answer.')
    world.alert(RAISE, HEAL)
    # The second is Tacker's own.
    assert world.healed == [('vnf-1', 'vnfc-1')]
    compute.trouble = None
    world.alert(RAISE)
    assert compute.runtime_us == 37_500


def test_while_tacker_itself_is_at_work_on_the_vnf_nothing_is_done(world, compute):
    lock = coordination.COORDINATOR
    lock.start()
    with lock.get_lock('vnf-1'):
        world.alert(RAISE)
    assert compute.done == []
    world.alert(RAISE)
    assert compute.runtime_us == 37_500


def test_after_an_operation_that_failed_nothing_is_done(world, compute, monkeypatch):
    def failed(_, vnf):
        raise exceptions.OtherOperationInProgress(inst_id=vnf)
    monkeypatch.setattr(lcm_op_occ_utils, 'check_lcmocc_in_progress', failed)
    world.alert(RAISE)
    assert (compute.done, world.healed) == ([], [])


def test_a_server_that_was_replaced_meanwhile_is_left_alone(world, compute):
    compute.gone = True
    world.alert(RAISE, HEAL)
    assert world.healed == [('vnf-1', 'vnfc-1')]
    assert compute.done == ['show']


def test_tackers_own_labels_name_a_vnfc_too(world, compute):
    world.alert({**HEAL, 'remedy': 'raise'})
    assert compute.runtime_us == 37_500


@pytest.mark.parametrize('labels', [
    {**OWN, 'server': 'server-1'},
    HEAL])
def test_alerts_that_do_not_ask_for_a_raise_are_tackers(world, compute, labels):
    world.alert(labels)
    assert compute.done == []
    assert world.healed == [('vnf-1', 'vnfc-1')]


@pytest.mark.parametrize('different', [
    {'vnfConfigurableProperties': {}},
    {'instantiationState': 'NOT_INSTANTIATED', 'instantiatedVnfInfo': {}}])
def test_a_vnf_that_is_not_to_be_healed_is_not_raised_either(
        world, compute, different):
    world.vnfs = [vnf_instance(**different)]
    world.alert(RAISE)
    assert (compute.done, world.healed) == ([], [])


def test_a_vnf_in_kubernetes_is_tackers(world, compute):
    world.vnfs = [vnf_instance(vimConnectionInfo={'vim': {'vimType': 'kubernetes'}})]
    world.alert(RAISE)
    assert (compute.done, world.healed) == ([], [('vnf-1', 'vnfc-1')])


@pytest.mark.parametrize('labels', [
    {**RAISE, 'server': 'of-somebody-else'},
    {**OWN, 'remedy': 'raise'},
    {**OWN, 'vnf_instance_id': 'unknown', 'vnfc_info_id': 'vnfc-1'},
    {**RAISE, 'function_type': 'auto_scale'}])
def test_other_alerts_do_nothing_and_hinder_nobody(world, compute, labels):
    world.alert(labels, RAISE, HEAL)
    assert (compute.runtime_us, world.healed) == (37_500, [('vnf-1', 'vnfc-1')])


def test_an_alert_that_is_over_does_nothing(world, compute):
    world.alert(RAISE, status='resolved')
    assert compute.done == []


def test_what_is_no_alert_of_alertmanagers_is_refused(world, compute):
    plugin = auto_healing.AutoHealing.instance()
    with pytest.raises(exceptions.SolValidationError):
        plugin._alert(types.SimpleNamespace(context=None), body={'alerts': [{}]})
