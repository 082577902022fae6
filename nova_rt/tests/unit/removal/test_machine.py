# SPDX-License-Identifier: Apache-2.0
"""What is left in the files of a machine."""

from oslo_config import cfg
import pytest

from nova_rt import conf as rt_conf
from nova_rt.api import paste_ini
from nova_rt.removal import machine

STOCK = '[DEFAULT]\n'
OURS = """
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = nova_rt.filters.rt_share_filter.RTShareFilter
enabled_filters = ComputeFilter,RTShareFilter
weight_classes = nova.scheduler.weights.all_weighers
[rt]
cap = 0.9
"""
PIPELINE = ('[composite:osapi_compute]\nuse = call:nova.api.openstack.urlmap:urlmap_factory\n'
            '/v2.1: openstack_compute_api_v21\n\n[composite:openstack_compute_api_v21]\n'
            'keystone = keystonecontext osapi_compute_app_v21\n')


@pytest.fixture
def left(tmp_path):
    """Returns what is left on a machine with this nova.conf and this api-paste.ini."""
    def find(nova_conf, paste=PIPELINE):
        (tmp_path / 'nova.conf').write_text(nova_conf)
        (tmp_path / 'api-paste.ini').write_text(paste)
        conf = cfg.ConfigOpts()
        rt_conf.register_opts(conf)
        conf.register_opts([
            cfg.MultiStrOpt('available_filters', default=['nova.scheduler.filters.all_filters']),
            cfg.ListOpt('enabled_filters', default=['ComputeFilter']),
            cfg.ListOpt('weight_classes', default=['nova.scheduler.weights.all_weighers'])],
            group='filter_scheduler')
        conf.register_opts([cfg.StrOpt('api_paste_config', default='api-paste.ini')],
                           group='wsgi')
        conf(['--config-file', str(tmp_path / 'nova.conf')])
        return [(remnant.place.replace(str(tmp_path), ''), remnant.left)
                for remnant in machine.left(conf, tmp_path)]
    return find


def test_nothing_is_left_on_a_machine_without_nova_rt(left):
    assert left(STOCK) == []


def test_each_option_that_names_nova_rt_is_left_with_its_file(left):
    assert left(OURS) == [
        ('/nova.conf', '[rt] cap'),
        ('/nova.conf', '[filter_scheduler] available_filters'),
        ('/nova.conf', '[filter_scheduler] enabled_filters')]


def test_the_filter_of_nova_api_is_left(left):
    assert left(STOCK, paste_ini.added(PIPELINE)) == [
        ('/api-paste.ini', 'it uses egg:nova-rt')]


def test_files_of_units_and_drop_ins_are_left(left, tmp_path):
    for name in ('systemd/system/nova-rt-compute.service',
                 'systemd/system/devstack@n-cpu.service.d/nova-rt.conf',
                 'sysctl.d/60-nova-rt.conf', 'sysctl.d/99-others.conf'):
        path = tmp_path / 'etc' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [place for place, _ in left(STOCK)] == [
        '/etc/systemd/system/nova-rt-compute.service',
        '/etc/systemd/system/devstack@n-cpu.service.d/nova-rt.conf',
        '/etc/sysctl.d/60-nova-rt.conf']
