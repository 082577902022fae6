# SPDX-License-Identifier: Apache-2.0
"""The cases that the Kubernetes driver's tests read too (kubernetes/internal)."""

import json
import pathlib
from typing import Any

import pytest

from nova_rt import bandwidth
from nova_rt import reservation

TABLE = json.loads(pathlib.Path(__file__).with_name('arithmetic.json').read_text())


def sentence_of(case: dict[str, Any], call, *args) -> Any:
    """Return what a call returns, None if it is refused with the case's sentence."""
    if 'sentence' not in case:
        return call(*args)
    with pytest.raises(reservation.InvalidReservationError) as refusal:
        call(*args)
    assert str(refusal.value).replace('hw:', '') == case['sentence']
    return None


@pytest.mark.parametrize('case', TABLE['bandwidth'])
def test_bandwidth_is_that_of_the_table(case):
    assert bandwidth.to_bandwidth(case['runtime_us'], case['period_us']) == case['bandwidth']


@pytest.mark.parametrize('case', TABLE['fraction'])
def test_fraction_is_that_of_the_table(case):
    assert bandwidth.fraction_to_bandwidth(case['fraction']) == case['bandwidth']


@pytest.mark.parametrize(('name', 'case'), [
    (name, case) for name in ('runtime_covering', 'longest_runtime') for case in TABLE[name]])
def test_runtime_is_that_of_the_table(name, case):
    found = getattr(bandwidth, name)(case['bandwidth'], case['period_us'])
    assert found == case['runtime_us']


@pytest.mark.parametrize('case', TABLE['percent'])
def test_percentage_is_that_of_the_table(case):
    assert bandwidth.percent(case['bandwidth']) == case['text']


@pytest.mark.parametrize('case', TABLE['reservation'])
def test_reservation_is_that_of_the_table(case):
    made = sentence_of(case, reservation.Reservation,
                       case['runtime_us'], case['period_us'], case['vcpus'])
    assert made is None or made.bandwidth == case['bandwidth']


@pytest.mark.parametrize('case', TABLE['cap'])
def test_cap_is_that_of_the_table(case):
    wanted = reservation.Reservation(case['runtime_us'], case['period_us'], case['vcpus'])
    sentence_of(case, reservation.check_cap, wanted, case['cap'])


@pytest.mark.parametrize('case', TABLE['number'])
def test_number_is_that_of_the_table(case):
    found = sentence_of(case, reservation.parse_number, reservation.RUNTIME, case['value'])
    assert found == case.get('number')


@pytest.mark.parametrize('case', TABLE['init'])
def test_policy_of_init_is_that_of_the_table(case):
    specs = {f'hw:cpu.rt_{name}': case[name] for name in ('policy', 'priority') if name in case}
    sentence_of(case, reservation.init_policy, specs)
