# SPDX-License-Identifier: Apache-2.0
"""A container that is resized keeps what it has written."""

import pathlib

import pytest

from nova_rt.tests.e2e import driver
from stack import kernel as stack_kernel

WRITTEN = 'written before the resize'


def root_of(user, server):
    """Return the root directory of a container, as its processes see it."""
    group = stack_kernel.ACCOUNTING / user.container(server).group
    pid = driver.until(
        lambda: (group / 'cgroup.procs').read_text().split()[-1:],
        'the container has a process')[0]
    return pathlib.Path(f'/proc/{pid}/root')


@pytest.fixture
def resized(user, flavors):
    """A server that was resized after it had written a file."""
    server = user.boot(flavors(40_000), 'busybox-hog')
    (root_of(user, server.id) / 'kept').write_text(WRITTEN)
    # With another memory, as the times alone would be changed in place.
    user.cloud.compute.resize_server(server.id, flavors(60_000, ram=96))
    return user.settled(server.id, 'VERIFY_RESIZE')


def assert_kept(user, server, share):
    assert (root_of(user, server) / 'kept').read_text() == WRITTEN
    assert set(user.container(server).shares.values()) == {share}


def test_a_resized_server_keeps_its_disk(user, resized):
    user.cloud.compute.confirm_server_resize(resized.id)
    # Nova shows no task while it does so.
    driver.until(lambda: user.show(resized.id).status == 'ACTIVE',
                 'the resize is confirmed')
    assert_kept(user, resized.id, 0.3)


def test_a_server_whose_resize_is_reverted_keeps_its_disk(user, resized):
    user.cloud.compute.revert_server_resize(resized.id)
    user.settled(resized.id, 'ACTIVE')
    assert_kept(user, resized.id, 0.2)
