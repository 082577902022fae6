# SPDX-License-Identifier: Apache-2.0
"""Playbooks, roles, variables and configuration for kolla-ansible."""

from collections import Counter
import configparser
import gzip
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
from unittest import mock

import pytest
import yaml

HERE = pathlib.Path(__file__).parents[1] / 'ansible'
ROOT = HERE.parents[1]
BIN = pathlib.Path(sys.prefix) / 'bin'
KOLLA_ANSIBLE = pathlib.Path(sys.prefix) / 'share/kolla-ansible/ansible'
# Folders of what differs.
KINDS = ('containers', 'machines')
TURNS = 'etc/systemd/system/nova-rt-turns.service'
PLAYBOOKS = ('nova-rt-prepare.yml', 'nova-rt-database.yml')


def play(playbook, *more, check=True):
    """Run a playbook on this machine.

    :returns: what ended, and the results by the names of their tasks.
    """
    done = subprocess.run(
        (BIN / 'ansible-playbook', '-i', 'localhost,', '-c', 'local',
         '-e', 'ansible_become=false', '-e',
         f'ansible_python_interpreter={sys.executable}', '-e', 'nova_rt_hosts=localhost',
         '-e', 'nova_rt_api_hosts=localhost', *(['--check'] if check else ()),
         *more, HERE / playbook),
        capture_output=True, text=True, env={
            **os.environ, 'ANSIBLE_STDOUT_CALLBACK': 'told',
            'ANSIBLE_CALLBACK_PLUGINS':
                str(pathlib.Path(__file__).parent / 'callback_plugins')})
    results = [json.loads(line) for line in done.stdout.splitlines()
               if line.startswith('{')]
    return done, {each['task']: each for each in results}


@pytest.mark.parametrize('playbook', PLAYBOOKS)
def test_a_playbook_has_valid_syntax(playbook):
    done = subprocess.run(
        (BIN / 'ansible-playbook', '-i', 'localhost,', '--syntax-check',
         HERE / playbook), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ansible_lint_finds_nothing():
    done = subprocess.run(
        (BIN / 'ansible-lint', '--offline', '-q', HERE, ROOT / 'playbooks'),
        cwd=ROOT,
        capture_output=True, text=True,
        env={**os.environ, 'PATH': f'{BIN}:{os.environ["PATH"]}'})
    assert done.returncode == 0, done.stdout + done.stderr


def has_real_time_groups():
    """Whether this kernel has them, by its files and its configuration."""
    if pathlib.Path('/sys/fs/cgroup/cpu/cpu.rt_runtime_us').exists():
        return True
    plain = pathlib.Path(f'/boot/config-{os.uname().release}')
    packed = pathlib.Path('/proc/config.gz')
    text = plain.read_text() if plain.exists() else (
        gzip.decompress(packed.read_bytes()).decode() if packed.exists()
        else '')
    return 'CONFIG_RT_GROUP_SCHED=y' in text


@pytest.fixture
def root(tmp_path):
    return '-e', f'nova_rt_host_root={tmp_path}'


def test_a_host_is_looked_at_without_being_changed(root, tmp_path):
    done, tasks = play('nova-rt-prepare.yml', *root, '-e',
                       'nova_rt_host_require_kernel=false', '-e',
                       'nova_rt_host_cgroups=v2')
    assert done.returncode == 0, done.stdout[-3000:]
    assert tasks['Make the directory that both containers share']['changed']
    assert not list(tmp_path.iterdir())


def test_the_kernel_that_runs_is_told_as_it_is(root):
    _, tasks = play('nova-rt-prepare.yml', *root, '-e',
                    'nova_rt_host_require_kernel=false', '-e',
                    'nova_rt_host_cgroups=v2')
    told = tasks['Tell whether the kernel has real-time control groups']
    fact = str(told['ansible_facts']['nova_rt_host_kernel']).strip()
    assert fact == str(has_real_time_groups())


def test_what_a_host_gets_is_there_after_it_and_changes_nothing_again(
        root, tmp_path):
    more = (*root, '-e', 'nova_rt_host_require_kernel=false', '-e',
            'nova_rt_host_cgroups=v2')
    done, _ = play('nova-rt-prepare.yml', *more, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    drop_in = tmp_path / 'etc/systemd/system/machine.slice.d/10-rt.conf'
    parser = configparser.ConfigParser()
    parser.read_string(drop_in.read_text())
    assert parser['Slice'] == {'cpuweight': '100'}
    assert (tmp_path / 'var/lib/nova/instances').is_dir()
    _, again = play('nova-rt-prepare.yml', *more, check=False)
    assert not any(task.get('changed') for task in again.values())


def test_grub_gets_what_control_groups_of_version_1_need(tmp_path):
    text = (HERE / 'roles/nova_rt_host/templates/grub.cfg.j2').read_text()
    script = tmp_path / 'grub.cfg'
    script.write_text('\n'.join(
        line for line in text.splitlines() if '{{' not in line))
    got = subprocess.run(
        ('sh', '-c', f'GRUB_CMDLINE_LINUX=quiet; . {script}; '
         'echo "$GRUB_CMDLINE_LINUX"'), capture_output=True, text=True)
    assert got.stdout.split() == [
        'quiet', 'systemd.unified_cgroup_hierarchy=0',
        'systemd.legacy_systemd_cgroup_controller=1']


@pytest.fixture
def manage(tmp_path):
    """Stands in for the container's nova-rt-manage; notes its arguments."""
    script = tmp_path / 'exec'
    script.write_text(
        '#!/bin/sh\n'
        f'echo "$*" >> {tmp_path}/called\n'
        'echo \'[{"cell": "cell1", "state": "\'"$STATE"\'"}]\'\n')
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(('state', 'upgraded'), [
    ('absent', True), ('old', True), ('current', False)])
def test_the_database_is_upgraded_where_a_cell_needs_it(
        manage, monkeypatch, state, upgraded):
    monkeypatch.setenv('STATE', state)
    done, tasks = play('nova-rt-database.yml', '-e',
                       f'nova_rt_database_exec={manage}', check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    called = (manage.parent / 'called').read_text().splitlines()
    assert called[0] == 'nova-rt-manage db status -f json'
    assert called[1:] == [
        'nova-rt-manage db upgrade --wait 60 -f json'] * upgraded
    assert bool(tasks['Add the columns'].get('changed')) is upgraded


@pytest.fixture
def machine(root, tmp_path):
    """The variables of a host for virtual machines, which has systemd-machined."""
    machined = tmp_path / 'usr/lib/systemd/systemd-machined'
    machined.parent.mkdir(parents=True)
    machined.touch()
    return (*root, '-e', 'nova_rt_host_kind=machine')


def test_a_host_for_virtual_machines_has_nova_rt_alone_admit_from_boot(machine, tmp_path):
    done, _ = play('nova-rt-prepare.yml', *machine, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    written = tmp_path / 'etc/sysctl.d/60-nova-rt.conf'
    assert [line for line in written.read_text().splitlines() if line[0] != '#'] == [
        'kernel.sched_rt_runtime_us = -1']
    assert {path for path in (tmp_path / 'etc').rglob('*') if path.is_file()} == {
        written, tmp_path / TURNS}
    _, again = play('nova-rt-prepare.yml', *machine, check=False)
    assert not any(task.get('changed') for task in again.values())
    done, _ = play('nova-rt-prepare.yml', *machine, '-e',
                   'nova_rt_host_admission=kernel', check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert not written.exists()


def test_a_host_whose_servers_would_end_with_libvirts_container_is_refused(machine, tmp_path):
    (tmp_path / 'usr/lib/systemd/systemd-machined').unlink()
    done, tasks = play('nova-rt-prepare.yml', *machine, check=False)
    assert done.returncode != 0
    assert 'install the package systemd-container' in tasks[
        "Refuse a host whose servers would end with libvirtd's container"]['msg']
    assert not (tmp_path / 'etc').exists()


def test_a_timer_ends_the_turns_of_vcpus_unless_the_tick_is_to(machine, tmp_path):
    play('nova-rt-prepare.yml', *machine, check=False)
    assert (tmp_path / TURNS).read_text() == (
        ROOT / 'etc/systemd/nova-rt-turns.service').read_text()
    done, _ = play('nova-rt-prepare.yml', *machine, '-e', 'nova_rt_host_turns=tick',
                   check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert not (tmp_path / TURNS).exists()


@pytest.mark.parametrize('wrong', ['nova_rt_host_kind=vm', 'nova_rt_host_admission=nobody',
                                   'nova_rt_host_turns=never'])
def test_an_unknown_setting_is_refused(root, wrong):
    done, tasks = play('nova-rt-prepare.yml', *root, '-e', wrong)
    assert done.returncode != 0
    assert 'is container or machine' in tasks['Refuse unknown settings']['msg']


def ours(kind):
    """Return the variables of a kind of server."""
    return yaml.safe_load((HERE / kind / 'globals.d/nova-rt.yml').read_text())


@pytest.mark.parametrize('kind', KINDS)
def test_every_variable_that_we_set_is_one_of_kolla_ansibles(kind):
    known = ''.join(
        path.read_text() for folder in (
            KOLLA_ANSIBLE / 'group_vars/all',
            KOLLA_ANSIBLE / 'roles/nova-cell/defaults')
        for path in folder.rglob('*.yml'))
    for name in ours(kind):
        if not name.startswith('nova_rt_'):
            assert re.search(rf'^{name}:', known, re.MULTILINE), name


@pytest.mark.parametrize('kind', KINDS)
def test_ours_are_merged_where_kolla_ansible_looks(kind):
    tasks = (KOLLA_ANSIBLE / 'roles/nova-cell/tasks/config.yml').read_text()
    assert '{{ node_custom_config }}/nova/{{ item.key }}.conf' in tasks
    assert (HERE / kind / 'config/nova/nova-compute.conf').exists()
    assert (HERE / 'config/nova/nova-scheduler.conf').exists()


def test_the_options_of_every_container_are_kolla_ansibles_own():
    theirs = {name: value for path in (KOLLA_ANSIBLE / 'group_vars/all').rglob('*.yml')
              for name, value in (yaml.safe_load(path.read_text()) or {}).items()}
    options = ours('machines')['docker_common_options']
    del options['pid_mode']
    assert options == theirs['docker_common_options']


@pytest.mark.parametrize('task', ['check', 'start'])
def test_the_pid_namespace_is_the_hosts_for_nova_compute_and_libvirt_alone(task, tmp_path):
    """By kolla-ansible's own tasks, up to what its module would tell Docker."""
    playbook = tmp_path / 'pids.yml'
    playbook.write_text(yaml.safe_dump([{
        'hosts': 'localhost', 'gather_facts': False, 'tasks': [
            {'include_vars': {'dir': str(KOLLA_ANSIBLE / 'group_vars/all')}},
            {'include_vars': str(KOLLA_ANSIBLE / 'roles/nova-cell/defaults/main.yml')},
            *(asked(task, service) for service in SERVICES)]}]))
    done, tasks = play(playbook, *VARIABLES, '-e',
                       f'@{HERE}/machines/globals.d/nova-rt.yml')
    assert done.returncode == 0, done.stdout[-3000:]
    assert {service: given(tasks[service]['msg']).get('pid_mode') for service in SERVICES} == {
        'nova-compute': 'host', 'nova-libvirt': 'host', 'nova-ssh': None,
        'nova-conductor': None}


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('engine', ['docker', 'podman'])
def test_no_container_gets_two_volumes_in_one_place(engine, kind, tmp_path):
    services = ('nova-compute', 'nova-libvirt')
    playbook = tmp_path / 'volumes.yml'
    playbook.write_text(yaml.safe_dump([{
        'hosts': 'localhost', 'gather_facts': False, 'tasks': [
            {'include_vars': {'dir': str(KOLLA_ANSIBLE / 'group_vars/all')}},
            {'include_vars': str(KOLLA_ANSIBLE / 'roles/nova-cell/defaults/main.yml')},
            *({'name': service, 'debug': {
                'msg': f"{{{{ nova_cell_services['{service}'].volumes }}}}"}}
              for service in services)]}]))
    done, tasks = play(playbook, *VARIABLES, '-e', f'kolla_container_engine={engine}',
                       '-e', f'@{HERE}/{kind}/globals.d/nova-rt.yml')
    assert done.returncode == 0, done.stdout[-3000:]
    for service in services:
        places = Counter(volume.split(':')[1] for volume in tasks[service]['msg'] if volume)
        assert max(places.values()) == 1, (service, places)


SERVICES = ('nova-compute', 'nova-libvirt', 'nova-ssh', 'nova-conductor')
# From passwords.yml.
VARIABLES = ('-e', 'docker_registry_password=secret')


def asked(task, service):
    """Return a task that prints what one of kolla-ansible's passes to its module."""
    if task == 'check':
        where = 'roles/service-check-containers/tasks/main.yml'
        named = {'item': {'value': f"{{{{ nova_cell_services['{service}'] }}}}"}}
    else:
        where, named = 'roles/nova-cell/handlers/main.yml', {}
    (original,) = [each for each in yaml.safe_load((KOLLA_ANSIBLE / where).read_text())
                   if 'kolla_container' in each and each['name'] in (
                       f'Restart {service} container',
                       'Check containers for {{ kolla_role_name | default(project_name) }}')]
    passed = {name: value for name, value in original['kolla_container'].items()
              if name in ('common_options', 'pid_mode', 'ipc_mode', 'name', 'action')}
    return {'name': service, 'vars': {**named, **original['vars']},
            'debug': {'msg': passed}}


def given(passed):
    """Return what kolla-ansible's module makes of what a task passes to it."""
    spec = importlib.util.spec_from_file_location(
        'kolla_container', KOLLA_ANSIBLE / 'library/kolla_container.py')
    library = importlib.util.module_from_spec(spec)
    # Docker's side, which needs the host's packages.
    with mock.patch.dict(sys.modules, {
            'ansible.module_utils.kolla_container_worker': mock.Mock()}):
        spec.loader.exec_module(library)

    class Parsed:
        """Stands in for AnsibleModule, which reads its arguments from a process's input."""

        def __init__(self, argument_spec, **more):
            self.params = {name: passed.get(name, each.get('default'))
                           for name, each in argument_spec.items()}

    library.AnsibleModule = Parsed
    return library.generate_module().params
