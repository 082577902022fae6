# SPDX-License-Identifier: Apache-2.0
"""Nova's documents with what nova-rt wrote into them, and without."""

import json

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt.removal import documents

RUNTIME = 'hw:cpu.rt_runtime_us'
PERIOD = 'hw:cpu.rt_period_us'
SHARE = 'resources:CUSTOM_RT_SHARE'
OWN = {'hw:mem_page_size': 'large', RUNTIME: '50000', PERIOD: '100000'}
MERGED = {**OWN, RUNTIME: '60000', SHARE: '629145'}


def flavor(extra_specs, flavorid='rt1'):
    return {'nova_object.name': 'Flavor', 'nova_object.data': {
        'flavorid': flavorid, 'extra_specs': extra_specs, 'vcpus': 1}}


def stored(cur, old=None, new=None):
    return json.dumps({'cur': cur, 'old': old, 'new': new})


def spec(extra_specs, hints=None):
    return json.dumps({'nova_object.data': {
        'flavor': flavor(extra_specs), 'scheduler_hints': hints, 'num_instances': 1}})


def nobody(flavorid):
    raise AssertionError(f'{flavorid} is looked up for nothing')


def test_what_a_hint_has_overridden_is_what_the_flavor_has():
    assert documents.instance_flavor(
        stored(flavor(MERGED)), {RUNTIME}, lambda _: OWN) == stored(flavor(OWN))


def test_what_no_hint_has_overridden_stays_as_it_was_when_the_server_was_built():
    assert documents.instance_flavor(
        stored(flavor(MERGED)), frozenset(), lambda _: {}) == stored(
            flavor({**OWN, RUNTIME: '60000'}))


def test_of_a_flavor_that_is_gone_nothing_of_a_hint_stays():
    assert documents.instance_flavor(
        stored(flavor(MERGED)), {RUNTIME, PERIOD}, lambda _: {}) == stored(
            flavor({'hw:mem_page_size': 'large'}))


def test_each_side_of_a_move_becomes_what_its_own_flavor_has():
    own = {'rt1': OWN, 'rt2': {RUNTIME: '1000', PERIOD: '2000'}}
    before = stored(flavor(MERGED), flavor(MERGED), flavor(MERGED, 'rt2'))
    after = json.loads(documents.instance_flavor(before, {RUNTIME}, own.get))
    assert [after[side]['nova_object.data']['extra_specs'][RUNTIME]
            for side in ('cur', 'old', 'new')] == ['50000', '50000', '1000']
    assert SHARE not in json.dumps(after)


@given(st.dictionaries(st.text(), st.text()))
def test_a_flavor_that_was_never_merged_comes_back_byte_for_byte(extra_specs):
    extra_specs.pop(SHARE, None)
    before = stored(flavor(extra_specs))
    assert documents.instance_flavor(before, {RUNTIME}, nobody) == before


@pytest.mark.parametrize('hints', [
    {'cpu.rt_runtime_us': ['60000']}, {RUNTIME: ['60000']}])
def test_a_request_loses_the_share_and_keeps_its_hints(hints):
    assert documents.request_spec(spec(MERGED, hints), lambda _: OWN) == spec(OWN, hints)
    assert documents.hinted(spec(MERGED, hints)) == {RUNTIME}


def test_a_request_without_hints_has_overridden_nothing():
    assert documents.hinted(spec(OWN)) == frozenset()


def test_a_server_has_a_reservation_if_its_flavor_names_a_share_or_a_runtime():
    assert documents.reserves(stored(flavor(MERGED)))
    assert documents.reserves(stored(flavor(OWN)))
    assert not documents.reserves(stored(flavor({'hw:mem_page_size': 'large'})))


def test_stats_keep_what_nova_counts():
    assert documents.stats(
        '{"failed_builds": "0", "rt_share": "4", "io_workload": "0"}') == (
            '{"failed_builds": "0", "io_workload": "0"}')
