# SPDX-License-Identifier: Apache-2.0
"""A reservation as a ResourceClaimTemplate, and back."""

import copy
import json
import pathlib

from hypothesis import given
from hypothesis import strategies
import pytest
import yaml

from nova_rt import bandwidth
from nova_rt import reservation
from tacker_rt import claims

ROOT = pathlib.Path(__file__).parents[3]
TABLE = json.loads((ROOT / 'nova_rt/tests/unit/arithmetic.json').read_text())
DEVICES = ('spec', 'spec', 'devices')


@strategies.composite
def any_claims(draw):
    period_us = draw(strategies.integers(bandwidth.MIN_PERIOD_US, bandwidth.MAX_PERIOD_US))
    shortest = max(bandwidth.MIN_RUNTIME_US, -(-period_us // bandwidth.BW_UNIT))
    runtime_us = draw(strategies.integers(shortest, period_us))
    every = draw(strategies.booleans())
    vcpus = 1 if every else draw(strategies.integers(1, claims.MOST_VCPUS))
    init = draw(strategies.none() | strategies.builds(
        reservation.InitPolicy, strategies.sampled_from(reservation.POLICIES),
        strategies.integers(1, reservation.MAX_PRIORITY)))
    return claims.Claim(reservation.Reservation(runtime_us, period_us, vcpus), init, every)


def of(runtime_us=30_000, period_us=100_000, vcpus=2):
    """Return a template and its devices, to be changed."""
    wanted = claims.Claim(reservation.Reservation(runtime_us, period_us, vcpus))
    template = copy.deepcopy(claims.write('a', wanted))
    return template, template['spec']['spec']['devices']


def only(template):
    """Return the one problem of a template."""
    claim, wrong = claims.read(template)
    assert claim is None
    problem, = wrong
    assert problem.path[:3] == DEVICES
    return problem.sentence


@given(any_claims())
def test_what_is_written_is_read_again(claim):
    assert claims.read(claims.write('a', claim)) == (claim, [])


def test_the_documentations_example_is_what_is_written():
    text = (ROOT / 'doc/source/mano/kubernetes.rst').read_text()
    block = text.split('.. code-block:: yaml\n')[1].split('\n.. code-block')[0]
    wanted = claims.Claim(reservation.Reservation(60_000, 100_000, 4),
                          reservation.InitPolicy('fifo', 10))
    assert claims.write('vdu-a', wanted) == yaml.safe_load(block)


@pytest.mark.parametrize('case', TABLE['reservation'])
def test_it_has_the_bandwidth_and_the_sentences_that_the_driver_has(case):
    template, devices = of()
    parameters = devices['config'][0]['opaque']['parameters']
    parameters |= {reservation.RUNTIME: case['runtime_us'],
                   reservation.PERIOD: case['period_us']}
    exactly = devices['requests'][0]['exactly']
    exactly['count'] = case['vcpus']
    exactly['capacity']['requests']['bandwidth'] = str(case.get('bandwidth'))
    if case.get('sentence'):
        assert only(template) == case['sentence']
    elif case['vcpus'] > claims.MOST_VCPUS:
        assert 'but a claim has at most 32 devices' in only(template)
    else:
        assert claims.read(template)[0].reserved.bandwidth == case['bandwidth']


def test_a_bandwidth_that_is_not_runtime_over_period_is_refused():
    template, devices = of()
    devices['requests'][0]['exactly']['capacity']['requests']['bandwidth'] = '314573'
    assert only(template) == (
        'The request asks for a bandwidth of 314573, but 30000 µs every 100000 µs is 314572: '
        'give capacity.requests.bandwidth as (runtime << 20) / period, rounded down.')


@pytest.mark.parametrize(('change', 'sentence'), [
    (lambda d: d.pop('constraints'),
     'The request has 2 vCPUs, and each needs a pCPU of its own: add the constraint '
     'distinctAttribute: nova-rt.cpu/pcpu.'),
    (lambda d: d['constraints'][0].update(requests=['other']),
     'The request has 2 vCPUs, and each needs a pCPU of its own: add the constraint '
     'distinctAttribute: nova-rt.cpu/pcpu.'),
    (lambda d: d.pop('config'),
     'The claim has no parameters: give cpu.rt_runtime_us and cpu.rt_period_us in an opaque '
     'configuration for the driver nova-rt.cpu.'),
    (lambda d: d['config'].append(d['config'][0]),
     'The claim has 2 configurations for the driver nova-rt.cpu: give one.'),
    (lambda d: d['config'][0].update(requests=['other']),
     'The configuration for the driver nova-rt.cpu is not for the request vcpus: name it in the '
     "configuration's requests."),
    (lambda d: d['requests'].append({'name': 'one', 'firstAvailable': [
        {'name': 'x', 'deviceClassName': 'gpu'}, {'name': 'y', 'deviceClassName': 'rt-pcpu'}]}),
     'The request one asks for pCPUs in firstAvailable: ask for them in exactly.'),
    (lambda d: d.update(requests=[{'name': 'one', 'firstAvailable': [
        {'name': 'y', 'deviceClassName': 'rt-every-pcpu'}]}]),
     'The request one asks for pCPUs in firstAvailable: ask for them in exactly.'),
    (lambda d: d['requests'][0]['exactly'].update(allocationMode='All'),
     'The request asks for all pCPUs of a node: give a count of vCPUs.'),
    (lambda d: d['requests'][0]['exactly'].update(adminAccess=True),
     'The request asks for admin access, which takes no bandwidth: a reservation needs some.'),
    (lambda d: d['requests'][0]['exactly'].update(deviceClassName='rt-every-pcpu'),
     'The request has 2 devices, but the device of rt-every-pcpu is all pCPUs of a node: give '
     'count 1.'),
    (lambda d: d['requests'][0]['exactly'].update(count=0),
     'A reservation needs at least 1 vCPU, not 0.'),
    (lambda d: d['config'][0]['opaque']['parameters'].update({'cpu.rt_runtime_us': [1]}),
     'cpu.rt_runtime_us has 1 values: give one.'),
    (lambda d: d['config'][0]['opaque']['parameters'].update(
        {'cpu.rt_policy': 'rr', 'cpu.rt_priority': [1]}),
     'cpu.rt_priority has 1 values: give one.'),
    (lambda d: d['config'][0]['opaque']['parameters'].update({'cpu.rt_policy': ['rr']}),
     'cpu.rt_policy is no text: give one of fifo, rr.'),
    (lambda d: d['config'][0]['opaque']['parameters'].update({'cpu.rt_policy': None}),
     'cpu.rt_policy is no text: give one of fifo, rr.'),
    (lambda d: d['constraints'][0].update(requests=5),
     'The request has 2 vCPUs, and each needs a pCPU of its own: add the constraint '
     'distinctAttribute: nova-rt.cpu/pcpu.'),
    (lambda d: d['requests'].append({**d['requests'][0], 'name': 'more'}),
     'The claim asks for pCPUs in the requests vcpus and more: a claim has one reservation, so '
     'use two claims.'),
    (lambda d: d.pop('requests'),
     'A claim has one reservation: give one request of the class rt-pcpu, not 0.'),
    (lambda d: d['requests'][0]['exactly'].update(count='two'),
     "count is 'two': give a number."),
    (lambda d: d['config'][0]['opaque'].update(parameters=[1]),
     'The parameters of the claim are not of this driver: give apiVersion nova-rt.cpu/v1 and '
     'kind Reservation.'),
    (lambda d: d['config'][0]['opaque']['parameters'].update({'cpu.rt_runtim_us': 3}),
     "There is no parameter 'cpu.rt_runtim_us': give cpu.rt_runtime_us and cpu.rt_period_us, "
     'and if wanted cpu.rt_policy and cpu.rt_priority.'),
    (lambda d: d['config'][0]['opaque']['parameters'].pop('cpu.rt_period_us'),
     'cpu.rt_period_us is missing in the parameters of the claim: set both cpu.rt_runtime_us '
     'and cpu.rt_period_us.'),
    (lambda d: d['config'][0]['opaque']['parameters'].update({'cpu.rt_priority': 5}),
     'cpu.rt_priority is set without cpu.rt_policy: set cpu.rt_policy to one of fifo, rr too.'),
])
def test_a_template_that_the_cluster_would_refuse_is_refused(change, sentence):
    template, devices = of()
    change(devices)
    assert only(template) == sentence


def test_what_the_cluster_takes_is_taken():
    for change in (
            lambda d: d['config'][0].update(requests=None),
            lambda d: d['constraints'][0].update(requests=None),
            lambda d: d['requests'][0]['exactly'].update(allocationMode='ExactCount'),
            lambda d: d['requests'][0]['exactly'].update(adminAccess=False),
            lambda d: d['requests'].append(
                {'name': 'gpu', 'exactly': {'deviceClassName': 'gpu'}}),
            lambda d: d['config'].append({'opaque': {'driver': 'gpu', 'parameters': {}}})):
        template, devices = of()
        change(devices)
        claim, wrong = claims.read(template)
        assert wrong == []
        assert claim == claims.Claim(reservation.Reservation(30_000, 100_000, 2))


def test_a_template_for_other_devices_is_none_of_ours():
    template, devices = of()
    devices['requests'][0]['exactly']['deviceClassName'] = 'gpu'
    devices['config'][0]['opaque']['driver'] = 'gpu.example.org'
    assert claims.read(template) == (None, [])
    assert claims.read({'spec': None}) == (None, [])


def test_more_vcpus_than_a_claim_has_devices_are_refused():
    with pytest.raises(reservation.InvalidReservationError, match='at most 32 devices'):
        of(vcpus=33)
