# SPDX-License-Identifier: Apache-2.0
"""The Dockerfiles that the real kolla-build renders with our overrides."""

import pathlib
import re
import subprocess
import sys

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


def test_the_compute_service_that_starts_is_ours_as_root(ours):
    text = ours['nova-compute']
    assert 'exec sudo -E /var/lib/kolla/venv/bin/nova-rt-compute' in text
    assert '> /var/lib/kolla/venv/bin/nova-compute' in text
    # Root writes that, before the image goes over to Nova's user.
    assert text.index('nova-rt-compute') < text.index('USER nova')


def test_the_wrapper_and_its_permission_are_what_shell_makes_of_them(
        ours, tmp_path):
    made = re.findall(r"printf '([^']*)'", ours['nova-compute'])
    wrapper, permission = (subprocess.run(
        ('printf', text), capture_output=True, text=True, check=True).stdout
        for text in made)
    script = tmp_path / 'wrapper'
    script.write_text(wrapper)
    assert subprocess.run(('bash', '-n', script)).returncode == 0
    assert wrapper.startswith('#!/bin/bash\nexec sudo -E ')
    assert permission.endswith('SETENV: /var/lib/kolla/venv/bin/'
                               'nova-rt-compute\n')


def test_libvirt_has_its_driver_of_containers(ours):
    assert 'libvirt-daemon-driver-lxc' in packages(ours['nova-libvirt'])


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
