# SPDX-License-Identifier: Apache-2.0
"""What a VDU asks for, in each place where a descriptor may say it."""

import json

import hypothesis
from hypothesis import strategies as st
import pytest

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation
from tacker_rt import problems
from tacker_rt import reader
from tacker_rt import request
from tacker_rt import values

RUNTIME, PERIOD = reservation.HINTS
CRITICALITY = criticality.NAME
LEAST = elastic.NAME
TIMES = {RUNTIME: 60000, PERIOD: 100000}
AS_TEXT = {name: str(value) for name, value in TIMES.items()}
EXTRA_SPECS = {f'hw:{name}': value for name, value in AS_TEXT.items()}


def legacy(allocation=TIMES, **compute):
    return {'capabilities': {'nfv_compute': {'properties': {
        **compute, 'cpu_allocation': allocation}}}}


def sol001(**compute):
    return {'capabilities': {'virtual_compute': {'properties': compute}}}


def requirements(content):
    return sol001(virtual_cpu={
        'num_virtual_cpu': 2, 'vdu_cpu_requirements': content})


def capability(key, content):
    return sol001(requested_additional_capabilities={
        key: {'target_performance_parameters': content}})


def extra_specs(content):
    return sol001(compute_requirements={'nova_extra_specs': content})


def refused(vdu):
    """Return the one problem of a VDU as path and sentence."""
    _, wrong = reader.read(vdu)
    assert len(wrong) == 1, wrong
    return problems.dotted(wrong[0].path), wrong[0].sentence


@pytest.mark.parametrize('vdu', [
    legacy(), legacy(AS_TEXT), requirements(AS_TEXT),
    capability('real_time', AS_TEXT), capability('properties', AS_TEXT),
    extra_specs(json.dumps(EXTRA_SPECS)),
    {'properties': {'scheduler_hints': TIMES}}])
def test_a_reservation_is_found_wherever_it_may_stand(vdu):
    wanted, wrong = reader.read(vdu)
    assert not wrong
    assert wanted.hints == TIMES


@pytest.mark.parametrize('vdu', [
    {}, {'properties': None}, {'capabilities': []},
    legacy(None), legacy({}), requirements({'some': 'other'}),
    requirements('avx512'), capability('x', None), extra_specs('{'),
    extra_specs('[1]'), {'properties': {'metadata': {'cpu': 'fast'}}}])
def test_a_vdu_that_asks_for_nothing_has_nothing_wrong(vdu):
    wanted, wrong = reader.read(vdu)
    assert not wrong
    assert not wanted.hints


def test_the_same_said_twice_is_taken_once():
    vdu = {'capabilities': {
        **legacy()['capabilities'], **requirements(AS_TEXT)['capabilities']}}
    wanted, wrong = reader.read(vdu)
    assert not wrong
    assert wanted.hints == TIMES


def test_a_contradiction_is_refused_with_both_places():
    vdu = {'capabilities': {**legacy()['capabilities'], **requirements(
        {RUNTIME: '50000', PERIOD: '100000'})['capabilities']}}
    path, sentence = refused(vdu)
    assert path.endswith(f"vdu_cpu_requirements.'{RUNTIME}'")
    assert '50000 here and 60000 at capabilities.nfv_compute' in sentence


def test_a_contradiction_with_extra_specs_is_refused():
    vdu = requirements({**AS_TEXT, RUNTIME: '50000'})
    vdu['capabilities']['virtual_compute']['properties'][
        'compute_requirements'] = {'nova_extra_specs': json.dumps(EXTRA_SPECS)}
    assert 'give it once' in refused(vdu)[1]


@pytest.mark.parametrize(('given', 'said'), [
    ('two', "num_virtual_cpu is 'two': give a whole number in digits, for example 100000."),
    ([1, 2], 'num_virtual_cpu is a list: give one whole number.'),
    (0, 'A reservation needs at least 1 vCPU, not 0.')])
def test_a_number_of_vcpus_that_is_none_is_refused(given, said):
    vdu = sol001(virtual_cpu={'num_virtual_cpu': given, 'vdu_cpu_requirements': AS_TEXT})
    assert refused(vdu)[1] == said


def test_extra_specs_need_no_hint():
    assert reader.read_valid(extra_specs(json.dumps(EXTRA_SPECS))).in_flavor


def test_an_input_stays_an_input():
    wanted = reader.read_valid(legacy({
        RUNTIME: {'get_input': 'runtime'}, PERIOD: {'get_input': ['period']}}))
    assert wanted.runtime_us == values.Input('runtime')
    assert wanted.period_us == values.Input('period')


@pytest.mark.parametrize(('name', 'meant'), [
    ('cpu.rt_runtim_us', RUNTIME), ('cpu.rt_periods_us', PERIOD),
    ('hw:cpu.rt_runtime_us', RUNTIME), ('cpu_rt_period_us', PERIOD)])
@pytest.mark.parametrize('make', [legacy, requirements])
def test_a_mistyped_name_is_told_the_right_one(make, name, meant):
    assert f'write {meant}' in refused(make({**TIMES, name: 1000}))[1]


@pytest.mark.parametrize('name', ['cpu.rt_policy', 'cpu.rt_priority'])
def test_what_only_a_flavor_can_say_is_told_so(name):
    _, wrong = reader.read(requirements({**AS_TEXT, name: 'fifo'}))
    assert f'only a flavor can set it, as hw:{name}' in wrong[0].sentence


@pytest.mark.parametrize(('value', 'said'), [
    (0, 'no runtime below 2 µs'), ('much', 'give a whole number'),
    (True, 'give a whole number'), ([60000], 'give one whole number'),
    ({'get_property': ['SELF', 'x']}, 'get_input: NAME'),
    (200000, 'longer than the period'), ('9' * 5000, 'far out of range')])
def test_a_value_that_cannot_be_is_refused_where_it_stands(value, said):
    path, sentence = refused(legacy({**TIMES, RUNTIME: value}))
    assert said in sentence
    assert path.endswith(f"cpu_allocation.'{RUNTIME}'")


def test_half_a_reservation_is_refused():
    assert 'but cpu.rt_period_us is not: give both' in refused(
        legacy({RUNTIME: 60000}))[1]


def test_half_a_reservation_is_taken_over_a_flavor():
    vdu = {**legacy({RUNTIME: 60000}), 'properties': {'flavor': 'rt1'}}
    wanted = reader.read_valid(vdu)
    assert wanted.hints == {RUNTIME: 60000}
    assert wanted.flavor == 'rt1'


def test_tackers_name_of_a_flavor_is_found():
    vdu = sol001(requested_additional_capabilities={'properties': {
        'requested_additional_capability_name': 'rt1'}})
    assert reader.read_valid(vdu).flavor == 'rt1'


@pytest.mark.parametrize('vdu', [
    {'properties': dict(TIMES)},
    {'capabilities': {'nfv_compute': {'properties': dict(TIMES)}}},
    {'capabilities': {'nfv_compute': {'cpu_allocation': dict(TIMES)}}},
    {'capabilities': {'host': {'properties': {'cpu_allocation': TIMES}}}},
    sol001(vdu_cpu_requirements=AS_TEXT), {'nfv_compute': [TIMES]},
    legacy([TIMES])])
def test_a_reservation_where_nothing_reads_it_is_refused(vdu):
    _, wrong = reader.read(vdu)
    assert len(wrong) == 2
    assert all('Nothing reads a reservation here' in each.sentence
               for each in wrong)


@pytest.mark.parametrize('vdu', [
    legacy(f'{RUNTIME}: 60000'), requirements(f'{RUNTIME}: 60000')])
def test_a_text_in_place_of_a_map_is_refused(vdu):
    assert 'must be a map' in refused(vdu)[1]


def test_extra_specs_that_cannot_be_read_are_refused():
    assert 'not a JSON or YAML map' in refused(
        extra_specs('{"hw:cpu.rt_runtime_us": '))[1]


def test_a_name_used_in_itself_is_no_endless_search():
    loop = {}
    loop['again'] = loop
    assert reader.read({'properties': loop}) == (request.VduRequest(), [])


def test_affinity_and_topology_become_extra_specs_of_nova():
    wanted = reader.read_valid(legacy({
        'cpu_affinity': 'dedicated', 'thread_allocation': 'isolate',
        'socket_count': 1, 'core_count': '2', 'thread_count': 2}, num_cpus=4))
    assert wanted.extra_specs == {
        'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'isolate',
        'hw:cpu_sockets': '1', 'hw:cpu_cores': '2', 'hw:cpu_threads': '2'}


@pytest.mark.parametrize(('allocation', 'said'), [
    ({**TIMES, 'cpu_affinity': 'dedicated'}, 'leaves no room for a reservation'),
    ({'thread_allocation': 'prefer'}, 'give cpu_affinity: dedicated'),
    ({'cpu_affinity': 'pinned'}, 'give one of shared, dedicated'),
    ({'cpu_afinity': 'shared'}, 'did you mean cpu_affinity?'),
    ({'sockets': 0}, 'There is no'), ({'core_count': 0}, 'at least 1'),
    ({7: 1}, 'is not a name'),
    ({'socket_count': 1, 'core_count': 3, 'thread_count': 1},
     '1 x 3 x 1 makes 3 vCPUs, but num_cpus is 4')])
def test_affinity_and_topology_that_cannot_be_are_refused(allocation, said):
    assert said in refused(legacy(allocation, num_cpus=4))[1]


def test_affinity_beside_a_flavor_is_refused():
    vdu = {**legacy({'cpu_affinity': 'shared'}),
           'properties': {'flavor': 'rt1'}}
    assert "flavor 'rt1' already sets this" in refused(vdu)[1]


@pytest.mark.parametrize(('given', 'expected'), [
    ({}, request.Size()),
    ({'num_cpus': '4', 'mem_size': '1 GB', 'disk_size': '1500 MB'},
     request.Size(4, 1024, 2)),
    ({'mem_size': '0.5 GiB', 'disk_size': '20gb'}, request.Size(1, 512, 20))])
def test_sizes_are_in_the_units_of_a_flavor_and_never_less(given, expected):
    assert reader.read_valid(legacy(**given)).size == expected


@pytest.mark.parametrize(('given', 'said'), [
    ({'num_cpus': 0}, 'at least 1'), ({'num_cpus': 'many'}, 'whole number'),
    ({'mem_size': '4096'}, 'such as 4096 MB'),
    ({'disk_size': {'get_input': 'disk'}}, 'cannot be an input'),
    ({'mem_size': ['1 GB']}, 'such as 4096 MB')])
def test_sizes_that_cannot_be_are_refused(given, said):
    assert said in refused(legacy(**given))[1]


@hypothesis.given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6)
    | st.sampled_from([RUNTIME, 'get_input']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from([
            'capabilities', 'nfv_compute', 'virtual_compute', 'properties',
            'cpu_allocation', 'virtual_cpu', 'vdu_cpu_requirements', 'flavor',
            'requested_additional_capabilities', 'compute_requirements',
            'nova_extra_specs', 'num_cpus', 'scheduler_hints', 'get_input',
            RUNTIME, PERIOD, 'cpu.rt_runtim_us']), inner, max_size=4),
    max_leaves=12))
def test_anything_is_read_or_refused(vdu):
    if isinstance(vdu, dict):
        wanted, wrong = reader.read(vdu)
        assert isinstance(wanted, request.VduRequest)
        assert all(each.sentence for each in wrong)


@pytest.mark.parametrize('make', [legacy, requirements, lambda content: capability('x', content),
                                  lambda content: extra_specs(json.dumps(
                                      {f'hw:{name}': value for name, value in content.items()}))])
def test_a_criticality_is_found_beside_the_times(make):
    wanted = reader.read_valid(make({**AS_TEXT, CRITICALITY: 'C'}))
    assert wanted.hints == {**TIMES, CRITICALITY: 'C'}


def test_a_criticality_may_be_an_input_or_stand_over_a_flavor():
    vdu = {**legacy({CRITICALITY: {'get_input': 'letter'}}), 'properties': {'flavor': 'rt1'}}
    assert reader.read_valid(vdu).hints == {CRITICALITY: values.Input('letter')}


@pytest.mark.parametrize('value', ['D', 'c', 1, ['A', 'B'], ['A'], {'get_property': 'x'}, None])
def test_what_is_no_criticality_is_refused_where_it_stands(value):
    path, sentence = refused(legacy({**TIMES, CRITICALITY: value}))
    assert path.endswith(f"cpu_allocation.'{CRITICALITY}'")
    assert 'give one of A, B, C' in sentence


def test_a_criticality_of_nothing_is_refused():
    assert f'{CRITICALITY} is given, but {RUNTIME} is not' in refused(
        legacy({CRITICALITY: 'A'}))[1]


def test_a_least_runtime_is_found_beside_the_times():
    for make in (legacy, requirements):
        assert reader.read_valid(make({**AS_TEXT, LEAST: '2000'})).hints == {**TIMES, LEAST: 2000}
    vdu = legacy({**TIMES, LEAST: {'get_input': 'least'}})
    assert reader.read_valid(vdu).hints[LEAST] == values.Input('least')


@pytest.mark.parametrize(('value', 'told'), [
    (1, 'below 2 µs'), ('x', 'give a whole number'), (4_000_000, 'but the runtime is')])
def test_what_is_no_least_runtime_is_refused_where_it_stands(value, told):
    path, sentence = refused(legacy({**TIMES, LEAST: value}))
    assert path.endswith(f"cpu_allocation.'{LEAST}'")
    assert told in sentence


def test_a_least_runtime_of_nothing_is_refused():
    assert f'{LEAST} is given, but {RUNTIME} is not' in refused(legacy({LEAST: 2000}))[1]


def test_a_mistyped_criticality_is_told_the_right_name():
    assert f'write {CRITICALITY}' in refused(legacy({**TIMES, 'cpu.rt_criticalty': 'A'}))[1]
