# SPDX-License-Identifier: Apache-2.0
"""nova-rt-compute listens at the port of a virtual machine wherever that runs.

What a guest tells by it is tested in ``machines/test_jobs_port.py``.
"""

import re

import pytest

from nova_rt.tests.e2e import driver
from nova_rt.virt import jobs_port
from stack import guests


@pytest.fixture
def server(user, flavors):
    """The id of a running server with a reservation."""
    return user.boot(flavors(40_000)).id


@pytest.fixture
def is_heard(stack, operator):
    """Returns whether QEMU has somebody who listens at a server's port on a host."""
    def is_heard(server, number):
        domain = operator.compute.get_server(server).instance_name
        told = guests.virsh(stack.site, number, 'qemu-monitor-command', domain,
                            '--hmp', 'info chardev')
        return bool(re.search(rf'filename=unix:\S*/{re.escape(jobs_port.NAME)}', told))
    return is_heard


def heard(is_heard, server, number):
    driver.until(lambda: is_heard(server, number), f'it is heard on host {number}')


def test_it_is_heard_wherever_it_goes(hosts, server, is_heard):
    number = hosts.of(server)
    heard(is_heard, server, number)
    for _ in range(2):
        number = 3 - number
        assert hosts.migrate_live(server) == 'completed'
        heard(is_heard, server, number)


def test_it_is_heard_after_each_of_novas_operations(
        hosts, user, operator, server, is_heard):
    number = hosts.of(server)
    heard(is_heard, server, number)
    for begin, end, status in (
            (operator.compute.suspend_server, operator.compute.resume_server, 'SUSPENDED'),
            (operator.compute.stop_server, operator.compute.start_server, 'SHUTOFF')):
        begin(server)
        driver.until(lambda status=status: user.show(server).status == status, status)
        end(server)
        driver.until(lambda: user.show(server).status == 'ACTIVE', 'it runs again')
        heard(is_heard, server, number)
    for kind in ('HARD', 'SOFT'):
        operator.compute.reboot_server(server, kind)
        user.rested(server)
        heard(is_heard, server, number)


def test_a_service_that_is_killed_hears_it_again(stack, hosts, server, is_heard):
    number = hosts.of(server)
    heard(is_heard, server, number)
    stack.restart(hosts.compute(number))
    heard(is_heard, server, number)
