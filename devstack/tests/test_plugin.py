# SPDX-License-Identifier: Apache-2.0
"""The DevStack plug-in, phase by phase.

DevStack's functions are those of a recorder (``recorder.sh``). If DEVSTACK_DIR
names a checkout of DevStack, each test runs a second time with its own functions
on INI files; the others would change the machine.
"""

import os
import pathlib
import subprocess
import sys

import pytest

from nova_rt.api import paste_ini
from stack.services import nova as stack_nova

HERE = pathlib.Path(__file__).parent
PLUGIN = HERE.parent
DEVSTACK = os.environ.get('DEVSTACK_DIR')
ALL_IN_ONE = 'nova,n-api,n-sch,n-cond,n-cpu,mysql,rabbit'
NOVA_CONF = """\
[DEFAULT]
compute_driver = libvirt.LibvirtDriver
[filter_scheduler]
enabled_filters = ComputeFilter,SameHostFilter
[libvirt]
virt_type = kvm
"""
CONTAINERS = {'NOVA_RT_VIRT_TYPE': 'lxc'}
# Notes how it is called; the filter's text is really edited.
MANAGE = f"""\
#!/bin/sh
echo "nova-rt-manage $*" >> "$RECORD"
[ "$1" = paste ] || exit 0
cd {PLUGIN.parent} && exec {sys.executable} - "$2" "$3" << 'EOF'
import pathlib, sys
from nova_rt.api import paste_ini
action, path = sys.argv[1], pathlib.Path(sys.argv[2])
change = {{'add': paste_ini.added, 'remove': paste_ini.removed}}[action]
path.write_text(change(path.read_text()))
EOF
"""


class Host:
    """A machine with DevStack, as far as the plug-in sees it."""

    def __init__(self, folder, real):
        self.folder = folder
        self._real = real
        self.conf = folder / 'nova.conf'
        self.paste = folder / 'api-paste.ini'
        self.units = folder / 'systemd'
        self.units.mkdir()
        self.drop_in = self.units / 'devstack@n-cpu.service.d/nova-rt.conf'
        self.turns = self.units / 'nova-rt-turns.service'
        self.sysctl = folder / 'sysctl.conf'
        self.sudoers = folder / 'sudoers'
        self.conf.write_text(NOVA_CONF)
        self.paste.write_text(
            (pathlib.Path(sys.prefix) / 'etc/nova/api-paste.ini').read_text())
        manage = folder / 'bin' / 'nova-rt-manage'
        manage.parent.mkdir()
        manage.write_text(MANAGE)
        manage.chmod(0o755)

    def run(self, mode, phase='', services=ALL_IN_ONE, packages='deb', **more):
        """Run a phase; return its status and what it would have done."""
        record = self.folder / 'record'
        record.unlink(missing_ok=True)
        record.touch()
        own = [f'source {DEVSTACK}/inc/ini-config'] if self._real else []
        script = self.folder / 'script'
        script.write_text('\n'.join([
            f'source {HERE}/recorder.sh', *own,
            f'source {PLUGIN}/override-defaults',
            f'source {PLUGIN}/settings',
            f'source {PLUGIN}/plugin.sh {mode} {phase}']))
        done = subprocess.run(
            ('bash', '-e', script), capture_output=True, text=True, env={
                'PATH': os.environ['PATH'], 'PYTHON': sys.executable,
                'INI': str(HERE / 'ini.py'), 'RECORD': str(record),
                'SANDBOX': str(self.folder), 'DEST': '/opt/stack',
                'PACKAGES': packages, 'ENABLED_SERVICES': services,
                'NOVA_CONF': str(self.conf),
                'NOVA_CPU_CONF': '/etc/nova/nova-cpu.conf',
                'NOVA_API_PASTE_INI': str(self.paste),
                'NOVA_SERVICE_PROTOCOL': 'http', 'NOVA_SERVICE_HOST': '192.0.2.1',
                'REGION_NAME': 'RegionOne',
                'NOVA_BIN_DIR': str(self.folder / 'bin'),
                'NOVA_FILTERS': 'ComputeFilter',
                'NOVA_RT_UNITS': str(self.units),
                'NOVA_RT_DIR': str(PLUGIN.parent),
                'NOVA_RT_SYSCTL': str(self.sysctl),
                'NOVA_RT_SUDOERS': str(self.sudoers), **more})
        return done.returncode, record.read_text().splitlines(), done.stderr

    def options(self):
        """Return what nova.conf says, each option with all its values."""
        found, section = {}, ''
        for line in self.conf.read_text().splitlines():
            if line.startswith('['):
                section = line.strip('[]')
            elif '=' in line:
                key, _, value = line.partition('=')
                found.setdefault((section, key.strip()), []).append(
                    value.strip())
        return found


@pytest.fixture(params=['recorder', *(['devstack'] if DEVSTACK else [])])
def host(request, tmp_path):
    return Host(tmp_path, request.param == 'devstack')


def test_before_anything_else_the_packages_are_installed(host):
    status, did, _ = host.run('stack', 'pre-install', **CONTAINERS)
    assert status == 0
    assert 'install_package gcc libc6-dev' in did
    assert 'install_package libvirt-daemon-driver-lxc' in did


@pytest.mark.parametrize(('services', 'settings'), [
    ('nova,n-api,n-sch', CONTAINERS), (ALL_IN_ONE, {})])
def test_only_a_host_of_containers_needs_their_driver(host, services, settings):
    _, did, _ = host.run('stack', 'pre-install', services, **settings)
    assert 'install_package libvirt-daemon-driver-lxc' not in did


@pytest.mark.parametrize(('name', 'sentence'), [
    ('NOVA_RT_VIRT_TYPE', 'set NOVA_RT_VIRT_TYPE to kvm, qemu or lxc.'),
    ('NOVA_RT_ADMISSION', 'set NOVA_RT_ADMISSION to ledger or kernel.'),
    ('NOVA_RT_TURNS', 'set NOVA_RT_TURNS to timer or tick.')])
def test_a_setting_that_means_nothing_is_refused_before_anything_else(
        host, name, sentence):
    status, did, _ = host.run('stack', 'pre-install', **{name: 'xen'})
    assert status != 0
    assert did == [f'die nova-rt: {sentence}']


def test_another_distribution_is_refused_with_a_sentence(tmp_path):
    status, did, _ = Host(tmp_path, False).run(
        'stack', 'pre-install', packages='rpm')
    assert status != 0
    assert did == [
        'die nova-rt: this plug-in needs Debian or Ubuntu.']


def test_nova_rt_is_installed_from_where_devstack_put_it(host):
    assert 'setup_develop /opt/stack/nova-rt' in host.run(
        'stack', 'install', NOVA_RT_DIR='')[1]


def test_nova_is_configured_as_on_the_stack_that_is_tested(host):
    assert host.run('stack', 'post-config', **CONTAINERS)[0] == 0
    options = host.options()
    ours = stack_nova.NOVA_RT['filter_scheduler']
    assert options['filter_scheduler', 'available_filters'] == (
        ours['available_filters'])
    assert options['filter_scheduler', 'weight_classes'] == [
        ours['weight_classes']]
    assert options['filter_scheduler', 'enabled_filters'] == [
        'ComputeFilter,SameHostFilter,RTShareFilter']
    assert ('DEFAULT', 'compute_driver') not in options
    for section, key, value in (
            ('DEFAULT', 'use_cow_images', 'False'),
            ('DEFAULT', 'force_raw_images', 'True'),
            ('libvirt', 'virt_type', 'lxc'), ('libvirt', 'images_type', 'raw'),
            ('rt', 'cap', '0.95'), ('rt', 'placement_policy', 'worst-fit')):
        assert options[section, key] == [value]


def test_what_writes_novas_configuration_in_the_background_is_awaited(host):
    _, did, _ = host.run('stack', 'post-config')
    awaited = did.index('async_wait configure_neutron_nova')
    assert awaited < min(number for number, command in enumerate(did)
                         if 'paste add' in command)


@pytest.mark.parametrize('virt_type', ['kvm', 'qemu'])
def test_for_virtual_machines_libvirt_stays_as_devstack_has_set_it(host, virt_type):
    _, did, _ = host.run('stack', 'post-config', NOVA_RT_VIRT_TYPE=virt_type)
    options = host.options()
    assert options['libvirt', 'virt_type'] == ['kvm']
    assert options['rt', 'cap'] == ['0.95']
    for name in (('DEFAULT', 'compute_driver'), ('DEFAULT', 'use_cow_images'),
                 ('libvirt', 'images_type')):
        assert name not in options
    assert host.sysctl.read_text() == 'kernel.sched_rt_runtime_us = -1\n'
    said = did.index(
        'echo_summary nova-rt: setting kernel.sched_rt_runtime_us to -1')
    assert said < did.index(f'sudo sysctl -q -p {host.sysctl}')


@pytest.mark.parametrize('settings', [
    CONTAINERS, {'NOVA_RT_ADMISSION': 'kernel'}])
def test_the_kernels_limit_stays_where_the_kernel_admits(host, settings):
    _, did, _ = host.run('stack', 'post-config', **settings)
    assert not host.sysctl.exists()
    assert not [command for command in did if 'sysctl -q' in command]


def test_a_timer_ends_turns_and_that_is_said(host):
    _, did, _ = host.run('stack', 'post-config')
    assert host.turns.read_text() == (
        PLUGIN.parent / 'etc/systemd/nova-rt-turns.service').read_text()
    assert did.index("echo_summary nova-rt: turning the scheduler's feature HRTICK_DL on") < (
        did.index('sudo systemctl enable --now nova-rt-turns'))


def test_a_kernel_that_is_locked_down_ends_turns_at_the_tick_and_that_is_said(host):
    status, did, _ = host.run('stack', 'post-config', SYSTEMCTL_FAILS='enable')
    assert status == 0
    assert did[did.index('sudo systemctl enable --now nova-rt-turns') + 1] == (
        'echo_summary nova-rt: it cannot be turned on, so turns end at the tick; '
        'is the kernel locked down?')


@pytest.mark.parametrize('settings', [CONTAINERS, {'NOVA_RT_TURNS': 'tick'}])
def test_the_scheduler_stays_as_it_is_where_no_timer_is_to_end_turns(host, settings):
    _, did, _ = host.run('stack', 'post-config', **settings)
    assert not host.turns.exists()
    assert not [command for command in did if 'nova-rt-turns' in command]


def test_what_devstack_starts_is_of_the_kind_that_is_set(tmp_path):
    for given, virt_type in (({}, 'kvm'), (CONTAINERS, 'lxc')):
        done = subprocess.run(
            ('bash', '-c', f'LIBVIRT_TYPE=default; source {PLUGIN}/override-defaults; '
             'echo $VIRT_DRIVER $LIBVIRT_TYPE'), capture_output=True, text=True,
            env={'PATH': os.environ['PATH'], **given})
        assert done.stdout == f'libvirt {virt_type}\n'


def test_local_conf_has_the_last_word(host):
    host.run('stack', 'post-config', NOVA_RT_CAP='0.8',
             NOVA_RT_CPU_SET='2-7', NOVA_RT_PLACEMENT_POLICY='best-fit')
    options = host.options()
    assert options['rt', 'cap'] == ['0.8']
    assert options['rt', 'cpu_set'] == ['2-7']
    assert options['rt', 'placement_policy'] == ['best-fit']


def test_our_filter_is_in_the_pipelines_once_however_often_it_is_stacked(host):
    host.run('stack', 'post-config')
    once = host.paste.read_text(), host.options()
    host.run('stack', 'post-config')
    assert (host.paste.read_text(), host.options()) == once
    assert once[0].count(f'{paste_ini.FILTER} {paste_ini.APPLICATION}') == 2


def test_devstacks_own_unit_starts_our_compute_service_as_root(host):
    _, did, _ = host.run('stack', 'post-config')
    assert host.drop_in.read_text().splitlines() == [
        '[Service]', 'User=root', 'ExecStart=',
        f'ExecStart={host.folder}/bin/nova-rt-compute '
        '--config-file /etc/nova/nova-cpu.conf']
    assert 'sudo systemctl daemon-reload' in did


def test_roots_sudo_finds_nova_rootwrap_where_devstack_has_installed_it(host):
    _, did, _ = host.run('stack', 'post-config')
    assert host.sudoers.read_text() == (
        f'Defaults:root secure_path=/usr/sbin:/usr/bin:/sbin:/bin:{host.folder}/bin\n')
    assert did[-1] == f'sudo chmod 440 {host.sudoers}'


def test_a_second_compute_host_changes_neither_api_nor_scheduler(host):
    before = host.paste.read_text()
    _, did, _ = host.run('stack', 'post-config', 'nova,n-cpu')
    assert host.paste.read_text() == before
    assert ('filter_scheduler', 'weight_classes') not in host.options()
    assert host.drop_in.exists()
    assert not [each for each in did if each.startswith('nova-rt-manage')]
    assert host.run('stack', 'extra', 'nova,n-cpu')[1] == [
        'echo_summary nova-rt: adding columns to the cells\' databases']


def test_the_api_is_entered_into_the_catalogue_beside_novas(host):
    _, did, _ = host.run('stack', 'extra')
    assert did[-2:] == [
        'get_or_create_service nova-rt rt Real-time CPU reservations',
        'get_or_create_endpoint rt RegionOne http://192.0.2.1/compute/rt']


def test_the_cells_are_migrated_once_their_databases_are_there(host):
    assert not [each for each in host.run('stack', 'post-config')[1]
                if 'db upgrade' in each]
    assert f'nova-rt-manage --config-file {host.conf} db upgrade' in host.run(
        'stack', 'extra')[1]


def test_unstack_ends_the_containers(host):
    _, did, _ = host.run('unstack', **CONTAINERS)
    assert [each for each in did if 'destroy' in each] == [
        f'sudo virsh -c lxc:///system destroy instance-{number}'
        for number in (1, 2)]


def test_unstack_leaves_virtual_machines_to_devstack(host):
    assert host.run('unstack')[:2] == (0, [])


def test_clean_takes_everything_back(host):
    before = host.paste.read_text()
    host.run('stack', 'post-config')
    status, did, _ = host.run('clean')
    assert status == 0
    assert not host.drop_in.parent.exists()
    assert not host.sudoers.exists()
    assert not host.sysctl.exists()
    assert 'sudo sysctl -q -w kernel.sched_rt_runtime_us=950000' in did
    assert not host.turns.exists()
    assert 'sudo systemctl disable --now nova-rt-turns' in did
    assert host.paste.read_text() == before
    status, did, _ = host.run('clean')
    assert status == 0
    assert not [command for command in did if 'sysctl -q' in command]


@pytest.mark.parametrize('mode', [
    ('stack', 'pre-install'), ('stack', 'install'), ('stack', 'post-config'),
    ('stack', 'extra'), ('unstack', ''), ('clean', '')])
def test_without_nova_nothing_is_done(host, mode):
    assert host.run(*mode, services='swift')[:2] == (0, [])


@pytest.mark.parametrize('mode', [('stack', 'test-config'), ('other', '')])
def test_phases_that_devstack_may_add_are_nothing_to_us(host, mode):
    assert host.run(*mode)[:2] == (0, [])


@pytest.mark.parametrize('sample', ['local.conf', 'local.conf.compute'])
def test_a_sample_sets_only_what_the_plug_in_or_devstack_has(sample):
    text = (PLUGIN / 'samples' / sample).read_text()
    assert text.splitlines().count('[[local|localrc]]') == 1
    assert 'enable_plugin nova-rt ' in text
    settings = ''.join(
        (PLUGIN / name).read_text() for name in ('override-defaults', 'settings'))
    for line in text.splitlines():
        name = line.lstrip('#').partition('=')[0]
        if name.startswith('NOVA_RT_'):
            assert f'{name}=${{{name}:-' in settings
