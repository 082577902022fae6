# SPDX-License-Identifier: Apache-2.0
"""With processes of this machine's kernel, in user namespaces where it has them."""

import os
import pathlib
import resource
import shutil
import subprocess
import time

import pytest

from nova_rt.virt import user_namespaces
from nova_rt.virt.cgroup import errors

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason='needs root')


@pytest.fixture
def start():
    """Start a controller with one child, in a user namespace or not."""
    controllers = []

    def start(*unshare, program=pathlib.Path('sleep')):
        command = ' '.join((*unshare, '"$0" 60 & echo $!; wait'))
        controller = subprocess.Popen(
            ('sh', '-c', command, program), stdout=subprocess.PIPE, text=True,
            start_new_session=True)
        controllers.append(controller)
        init = int(controller.stdout.readline())
        # unshare becomes sleep when it has made the namespace.
        while name_of(init) != os.fsencode(program.name):
            time.sleep(0.01)
        return controller.pid, init

    yield start
    for controller in controllers:
        os.killpg(controller.pid, 9)
        controller.communicate()


def name_of(process):
    return pathlib.Path(f'/proc/{process}/comm').read_bytes().strip()


@pytest.fixture
def limits(monkeypatch):
    """Limits as they were set; root may not raise them everywhere."""
    limits = {}
    monkeypatch.setattr(resource, 'prlimit', lambda process, name, pair: limits.update(
        {(process, name): pair}))
    return limits


def test_a_container_in_a_user_namespace_may_choose_priorities_up_to_the_limit(
        start, limits):
    controller, init = start('unshare', '--user', '--map-root-user')
    user_namespaces.permit_realtime(controller, [controller, init], 30)
    assert limits == {(init, resource.RLIMIT_RTPRIO): (30, 30)}


def test_a_name_that_is_no_utf_8_is_as_good_as_any(start, limits, tmp_path):
    program = tmp_path / '\udcff) R 1'
    program.symlink_to(shutil.which('sleep'))
    controller, init = start('unshare', '--user', '--map-root-user', program=program)
    user_namespaces.permit_realtime(controller, [controller, init], 30)
    assert limits == {(init, resource.RLIMIT_RTPRIO): (30, 30)}


def test_a_container_without_one_is_left_as_it_is(start, limits):
    controller, init = start()
    user_namespaces.permit_realtime(controller, [controller, init], 30)
    assert limits == {}


def test_a_container_that_has_ended_needs_nothing():
    ended = subprocess.Popen(['true'])
    ended.wait()
    user_namespaces.permit_realtime(1, [ended.pid], 30)


def test_a_limit_that_may_not_be_set_is_an_error_with_advice(start, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(1, 'Operation not permitted')

    monkeypatch.setattr(resource, 'prlimit', refuse)
    controller, init = start('unshare', '--user', '--map-root-user')
    with pytest.raises(errors.CgroupError, match='with CAP_SYS_RESOURCE'):
        user_namespaces.permit_realtime(controller, [controller, init], 30)


def test_only_the_first_pid_namespace_has_all_processes(tmp_path):
    for link, first in (('pid:[4026531836]', True), ('pid:[4026532000]', False)):
        proc = tmp_path / link
        (proc / 'self/ns').mkdir(parents=True)
        (proc / 'self/ns/pid').symlink_to(link)
        assert user_namespaces.sees_all_processes(proc) is first
