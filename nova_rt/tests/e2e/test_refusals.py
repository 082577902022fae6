# SPDX-License-Identifier: Apache-2.0
"""What is refused, where, and in which words."""

import openstack.exceptions
import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver

MANY = 1000 if full.WANTED else 50


@pytest.mark.parametrize('hints', [
    {'cpu__rt_runtime_us': value} for value in (
        '0', '-1', str(2 ** 63), 'abc', '1e5', '', '\u0661\u0662',
        '300000')
] + [{'cpu__rt_runtim_us': '80000'}, {'cpu__rt_period_us': '10'}])
def test_a_hint_that_makes_no_sense_is_answered_with_400(
        user, flavors, hints):
    with pytest.raises(openstack.exceptions.BadRequestException) as refusal:
        user.ask(flavors(60_000), **hints)
    assert 'cpu.rt_' in str(refusal.value)


def test_a_hint_without_any_reservation_is_half_of_one(user, flavors):
    with pytest.raises(openstack.exceptions.BadRequestException):
        user.ask(flavors(), cpu__rt_runtime_us='80000')


def test_a_flavor_cannot_get_an_extra_spec_that_makes_no_sense(
        operator, flavors):
    with pytest.raises(openstack.exceptions.BadRequestException):
        operator.compute.create_flavor_extra_specs(
            flavors(), {'hw:cpu.rt_runtime_us': 'abc'})


def test_what_does_not_fit_is_an_error_that_says_what_lacks(
        user, flavors, kernel):
    held = user.boot(flavors(120_000, vcpus=2))
    server = user.settled(user.ask(flavors(100_000, vcpus=2)).id, 'ERROR')
    assert '35% left and lacks 15%' in server.fault['message']
    user.delete(server.id)
    user.delete(held.id)
    driver.until(lambda: driver.nothing_held(kernel), 'all is given back')


def test_room_that_becomes_free_can_be_reserved_again(user, flavors):
    first = user.boot(flavors(120_000, vcpus=2))
    user.delete(first.id)
    user.boot(flavors(140_000, vcpus=2))


def test_more_servers_in_one_request_than_the_quota_are_refused_at_once(
        user, flavors):
    with pytest.raises(openstack.exceptions.ForbiddenException):
        user.ask_many(flavors(60_000), 1000)


def test_many_servers_in_one_request_that_do_not_all_fit_get_a_reason_each(
        user, flavors, kernel, no_quota):
    servers = user.ask_many(flavors(60_000), MANY)
    assert len(servers) == MANY
    for server in servers:
        shown = user.settled(server, 'ERROR')
        assert (f'{MANY} servers are wanted, but only 3 of them fit'
                in shown.fault['message'])
    assert driver.nothing_held(kernel)
