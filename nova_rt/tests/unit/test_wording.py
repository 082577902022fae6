# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_rt import wording


@pytest.mark.parametrize(('number', 'text'), [
    (0, '0 vCPUs'), (1, '1 vCPU'), (2, '2 vCPUs')])
def test_only_one_is_singular(number, text):
    assert wording.counted(number, 'vCPU') == text


@pytest.mark.parametrize(('value', 'text'), [
    (0.25, '0.25'), (1234.5678, '1234.57'), (48520.4, '48520.4'),
    (48523456.7, '48523457'), (-1e7, '-10000000'), (1e-9, '1e-09'),
    (float('inf'), 'inf')])
def test_a_large_number_is_whole_and_has_no_exponent(value, text):
    assert wording.rounded(value) == text
