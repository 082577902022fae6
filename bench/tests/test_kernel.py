# SPDX-License-Identifier: Apache-2.0
"""What the tests of the kernel printed, as measurements."""

import json
from pathlib import Path

import pytest

from bench import kernel
from bench import kernel_picture


@pytest.fixture
def cases(tmp_path):
    """Read lines as ``kernel/test`` writes them, the stock kernel's first."""
    def read(cpus, name, ours, stock, data=()):
        path = tmp_path / 'results.json'
        path.write_text(''.join(json.dumps({
            'kernel': which, 'cpus': cpus, 'hierarchy': 'v1',
            'case': name, 'verdict': 'passed',
            'text': text, 'data': data}) + '\n'
            for which, text in (('stock', stock), ('ours', ours))))
        return kernel.read(path)
    return read


def measurements_in(cases):
    return {measurement.name: measurement for measurement in kernel.measurements(cases)}


def test_a_share_stands_beside_that_of_the_stock_kernel(cases):
    measurements = measurements_in(cases(
        2, 'root-hog', 'a=30.05% (30.00) a@0=1.0% (30.00) 0=9.0% (9.00) ',
        'a=6.000% (30.00) worst=240.00 of the tolerance'))
    assert list(measurements) == ['root-hog, 2 CPU v1: a of 30.00%']
    share = measurements['root-hog, 2 CPU v1: a of 30.00%']
    assert (share.ours.median, share.theirs.median) == (30.05, 6.0)
    assert share.aims[0].met


def test_a_share_that_is_off_misses_its_aim(cases):
    measurements = measurements_in(cases(1, 'alone', 'a=29.8% (30.00)', ''))
    share = measurements['alone, 1 CPU v1: a of 30.00%']
    assert not share.aims[0].met
    assert share.theirs is None


@pytest.mark.parametrize(('cpus', 'number'), [(1, 2), (4, 0)])
def test_times_count_on_one_cpu_only(cases, cpus, number):
    measurements = measurements_in(cases(
        cpus, 'isolation', 'a:wait=70.0ms (140.000) '
        'task 0: 9 jobs, response=21.2ms (21.000) ', ''))
    assert len(measurements) == number
    if number:
        wait, response = measurements.values()
        assert wait.aims[0].met
        assert not response.aims[0].met


def test_cost_may_be_15_percent_more_than_stock(cases):
    measurements = measurements_in(cases(
        1, 'overhead', 'group-switch=1150 group-wakeup=1151 instructions',
        'group-switch=1000 group-wakeup=1000 instructions'))
    assert [measurement.aims[0].met for measurement in measurements.values()] == [True, False]
    assert [measurement.ratio.median for measurement in measurements.values()] == [1.15, 1.151]


def test_series_for_pictures_have_names(cases):
    _, ours = cases(4, 'taskset', '', '', ['cdf 0.1 1.0', 'other 3'])
    assert ours.data == {'cdf': ['0.1', '1.0'], 'other': ['3']}


@pytest.mark.parametrize(('data', 'kernels'), [
    (['cdf 0.5 1.0'], []), ([], ['ours', 'stock'])])
def test_a_picture_says_what_was_not_measured(
        cases, tmp_path, monkeypatch, data, kernels):
    monkeypatch.setattr(kernel_picture, 'BASE', tmp_path / 'kernel')
    vector, _ = kernel_picture.draw(cases(4, 'taskset', '', '', data))
    text = Path(vector).read_text()
    for which in ('ours', 'stock'):
        assert (f'{which}: not measured' in text) == (which in kernels)
