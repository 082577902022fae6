# SPDX-License-Identifier: Apache-2.0
"""Plans of migrations, with what Nova says of servers and hosts."""

from nova import context
import pytest

from nova_rt.defrag import cloud
from nova_rt.defrag import departures
from nova_rt.defrag.limits import Limits
from nova_rt.explain import migrations
from nova_rt.instance import residents
from nova_rt.tests.unit.defrag import clouds
from nova_rt.tests.unit.instance import servers


@pytest.mark.parametrize(('image', 'disk'), [('', 0), ('cirros', 1)])
def test_only_a_disk_that_a_server_has_is_free_once_it_has_left(image, disk):
    instance = servers.server(rt_pcpus='3')
    instance.image_ref, instance.locked = image, False
    (_, guest), = migrations.guests([residents.Resident(instance, residents.held(instance))])
    assert (guest.needs['DISK_GB'], guest.leaves.get('DISK_GB', 0)) == (1, disk)


@pytest.fixture
def filters(monkeypatch):
    """Nova's filters, which let no server go to c."""
    monkeypatch.setattr(migrations, '_refusing', lambda context, server, cloud: ['c'])
    return migrations.Filters(context.get_admin_context())


def test_filters_are_asked_first_and_a_plan_made_anew_has_time(filters, monkeypatch):
    """The emptiest host is c, where x may not go."""
    start = cloud.Cloud({
        'a': clouds.host(1, {'x': (50, [0], {})}),
        'b': clouds.host(1, {'y': (30, [0], {'migrates': False})}),
        'c': clouds.host(1)})
    searched = []

    def search(start, *arguments, **kwargs):
        searched.append(start.refused)
        return find(start, *arguments, **kwargs)
    find = departures.find
    monkeypatch.setattr(departures, 'find', search)
    plan = migrations.cheapest(filters, start, clouds.wanted(90, 1, 'a'), Limits(), 0)
    assert [(step.server, step.target) for step in plan.steps] == [('x', 'b')]
    assert searched == [frozenset(), {('x', 'c')}]
