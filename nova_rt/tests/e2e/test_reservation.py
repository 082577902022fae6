# SPDX-License-Identifier: Apache-2.0
"""What a server with a reservation gets from a real kernel."""

import pytest

from nova_rt.tests.e2e import driver


def test_a_container_gets_runtime_and_period_of_its_flavor(
        user, flavors, kernel):
    server = user.boot(flavors(60_000))
    budget = kernel.read(user.container(server.id).group)
    assert budget.period_us == 200_000
    assert 60_000 in budget.runtimes_us


def test_a_hint_overrides_the_flavor(user, flavors):
    server = user.boot(flavors(60_000), cpu__rt_runtime_us='80000')
    assert set(user.container(server.id).shares.values()) == {0.4}
    assert server.flavor.extra_specs['hw:cpu.rt_runtime_us'] == '80000'


def test_a_container_is_confined_to_as_many_pcpus_as_it_has_vcpus(
        user, flavors):
    for vcpus in (1, 2):
        server = user.boot(flavors(20_000, vcpus=vcpus))
        assert len(user.container(server.id).shares) == vcpus


@pytest.mark.parametrize('image', ['busybox-hog', 'busybox-hog-rr'])
def test_a_hog_inside_gets_the_share_that_is_reserved(user, flavors, image):
    server = user.boot(flavors(60_000), image)
    driver.assert_gets_its_shares(user.container(server.id))


def test_init_starts_under_the_policy_that_the_flavor_names(user, flavors):
    server = user.boot(flavors(60_000, rt_policy='rr', rt_priority='7'))
    assert (2, 7) in driver.policies_in(user.container(server.id))


def test_a_server_without_reservation_holds_nothing(user, flavors, kernel):
    user.boot(flavors())
    assert not any(kernel.read('machine').runtimes_us)
