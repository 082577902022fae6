# SPDX-License-Identifier: Apache-2.0
"""The Dockerfiles that the real kolla-build renders with our overrides."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

KOLLA = pathlib.Path(__file__).parents[1]
OURS = ('nova-api', 'nova-scheduler', 'nova-conductor', 'nova-compute',
        'nova-libvirt', 'tacker-server', 'tacker-conductor')


def build(folder, base, *more):
    return subprocess.run(
        (pathlib.Path(sys.prefix) / 'bin' / 'kolla-build', '--template-only',
         '--config-file', KOLLA / 'kolla-build.conf', '--work-dir', folder,
         '--base', base, *more, '^nova-', '^tacker'),
        capture_output=True, text=True)


@pytest.fixture(scope='session', params=['debian', 'ubuntu'])
def rendered(request, tmp_path_factory):
    """The Dockerfiles by image, with our overrides and without."""
    found = []
    for more in (('--template-override', KOLLA / 'template-override.j2'), ()):
        folder = tmp_path_factory.mktemp(request.param)
        done = build(folder, request.param, *more)
        assert done.returncode == 0, done.stderr[-2000:]
        found.append({path.parent.name: path.read_text()
                      for path in folder.rglob('Dockerfile')})
    return found


@pytest.fixture
def ours(rendered):
    return rendered[0]


def packages(dockerfile):
    """Return what apt-get installs."""
    return {word for line in re.findall(
        r'apt-get (?:-y install|install -y) --no-install-recommends ([^&\\]+)',
        dockerfile) for word in line.split()}


def test_every_image_of_ours_is_rendered(ours):
    assert not {*OURS} - {*ours}


def test_novas_images_are_built_with_the_compiler_and_the_plug_in(ours):
    base = ours['nova-base']
    assert {'gcc', 'libc6-dev'} <= packages(base)
    assert 'ADD plugins-archive /' in base
    assert re.search(r'pip .*install .*/plugins/\*', base)
    for name in ('nova-api', 'nova-scheduler', 'nova-compute'):
        assert re.search(r'^FROM .*nova-base:', ours[name], re.MULTILINE)


def test_the_api_has_our_filter_in_its_pipelines(ours):
    assert ('RUN nova-rt-manage paste add /etc/nova/api-paste.ini'
            in ours['nova-api'])


def written(dockerfile, path):
    """Return what a Dockerfile's printf writes to a file."""
    arguments, = re.findall(
        rf'printf ((?:(?!printf).)*?) *\\\n *> {re.escape(path)}',
        dockerfile, re.DOTALL)
    return subprocess.run(
        ('sh', '-c', f'printf {arguments}'), capture_output=True, text=True,
        check=True).stdout


@pytest.fixture
def wrapper(ours):
    return written(ours['nova-compute'],
                   '/var/lib/kolla/venv/bin/nova-compute')


def test_the_compute_service_that_starts_is_ours_as_root(ours, wrapper):
    assert 'sudo -E /var/lib/kolla/venv/bin/nova-rt-compute "$@"' in wrapper
    # Root writes that, before the image goes over to Nova's user.
    text = ours['nova-compute']
    assert text.index('nova-rt-compute') < text.index('USER nova')


def test_nova_may_do_as_root_what_the_wrapper_and_the_health_check_do(
        ours, wrapper):
    permitted = {line.split(':', 1)[1].split(':')[-1].strip()
                 for line in written(
                     ours['nova-compute'],
                     '/etc/sudoers.d/kolla_nova_rt_sudoers').splitlines()}
    assert permitted == {
        '/var/lib/kolla/venv/bin/nova-rt-compute',
        '/usr/bin/pkill -TERM -x nova-rt-compute',
        '/usr/bin/pkill -HUP -x nova-rt-compute',
        '/usr/local/bin/healthcheck_port nova-rt-compute *'}
    for command in re.findall(r'sudo (pkill[^"]*)"', wrapper):
        assert f'/usr/bin/{command}' in permitted


SUDO = """\
#!/bin/bash
# Stands for sudo: root's process is a child, and signals go to it alone.
printf "%s\\n" "$*" >> {folder}/asked
if [ "$1" = pkill ]; then kill "$2" "$(cat {folder}/pid)"; exit; fi
bash -c 'trap "echo HUP >> {folder}/asked" HUP; trap "exit 3" TERM
         echo $$ > {folder}/pid; while :; do sleep 0.05; done' &
while wait $!; status=$?; [ -d /proc/$! ]; do :; done
exit $status
"""


def test_the_wrapper_hands_signals_on_and_ends_as_the_service_does(
        wrapper, tmp_path):
    script, sudo = tmp_path / 'nova-compute', tmp_path / 'sudo'
    script.write_text(wrapper)
    sudo.write_text(SUDO.format(folder=tmp_path))
    sudo.chmod(0o755)
    asked, pid = tmp_path / 'asked', tmp_path / 'pid'

    def until(condition):
        for _ in range(1000):
            if condition():
                return
            assert process.poll() is None
            time.sleep(0.02)
        pytest.fail(asked.read_text())
    # Whoever runs the tests may ignore SIGHUP.
    process = subprocess.Popen(
        ('env', '--default-signal', 'bash', script, '--config-file', 'x'),
        env={**os.environ, 'PATH': f'{tmp_path}:{os.environ["PATH"]}'},
        start_new_session=True)
    try:
        until(lambda: pid.exists() and pid.read_text())
        process.send_signal(signal.SIGHUP)
        until(lambda: 'HUP\n' in asked.read_text().splitlines(keepends=True))
        process.terminate()
        assert process.wait(60) == 3
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert asked.read_text().splitlines() == [
        '-E /var/lib/kolla/venv/bin/nova-rt-compute --config-file x',
        'pkill -HUP -x nova-rt-compute', 'HUP',
        'pkill -TERM -x nova-rt-compute']


def test_libvirt_has_its_driver_of_containers(ours):
    assert 'libvirt-daemon-driver-lxc' in packages(ours['nova-libvirt'])


@pytest.mark.parametrize('version', [1, 2])
def test_a_containers_controller_leaves_libvirtds_groups_of_version_1(
        ours, tmp_path, version):
    groups, controller = tmp_path / 'cgroup', tmp_path / 'controller' / 'libvirt_lxc'
    for name in {1: ('systemd', 'cpu', 'memory'), 2: ('system.slice',)}[version]:
        (groups / name).mkdir(parents=True)
        (groups / name / 'cgroup.procs').touch()
    controller.parent.mkdir()
    controller.write_text('#!/bin/sh\necho $$ "$@"\n')
    controller.chmod(0o755)
    script = tmp_path / 'libvirt_lxc'
    script.write_text(
        written(ours['nova-libvirt'], '/usr/lib/libvirt/libvirt_lxc')
        .replace('/sys/fs/cgroup', str(groups))
        .replace('/usr/lib/libvirt/controller', str(controller.parent)))
    done = subprocess.run(('sh', script, '--name', 'a b'), check=True,
                          capture_output=True, text=True)
    pid, rest = done.stdout.split(maxsplit=1)
    assert rest == '--name a b\n'
    assert {procs.read_text() for procs in groups.glob('*/cgroup.procs')} == {
        f'{pid}\n' if version == 1 else ''}


def test_tacker_gets_our_package_and_nothing_that_it_requires(ours):
    base = ours['tacker-base']
    assert 'ADD additions-archive /' in base
    assert re.search(r'pip .*install --no-deps /additions/\*', base)
    assert {'gcc', 'libc6-dev'} <= packages(base)


def test_nothing_of_kollas_own_is_lost(rendered):
    ours, theirs = rendered
    assert ours.keys() == theirs.keys()
    for name, text in theirs.items():
        lines = ours[name]
        for package in packages(text):
            assert package in packages(lines), (name, package)
        for line in text.splitlines():
            if line.strip() and 'apt-get' not in line and 'LABEL' not in line:
                assert line in lines, (name, line)


def test_a_distribution_whose_libvirt_has_no_containers_is_refused(tmp_path):
    done = build(tmp_path, 'rocky', '--template-override',
                 KOLLA / 'template-override.j2')
    assert 'libvirt has no LXC driver on rocky' in done.stdout + done.stderr
