# SPDX-License-Identifier: Apache-2.0
"""Experiments as small as can be, on our kernel."""

import pytest

from experiments import guest
from experiments import output
from experiments import queueing
from experiments import tasksets

MISSING = guest.missing()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING or 'none')


def test_response_times_are_those_of_the_exact_simulator(tmp_path):
    ((point,),) = queueing.run(output.Folder(tmp_path), quick=True)
    assert point.measured.min() > 0
    assert point.measured.mean() == pytest.approx(
        point.costed.mean() + queueing.DELAY_US, rel=0.03)
    assert (tmp_path / 'figure6.svg').exists()
    assert len((tmp_path / 'queueing.csv').read_text().splitlines()) == 2


def test_no_set_misses_a_deadline_but_under_the_fair_scheduler(tmp_path):
    found = tasksets.run(output.Folder(tmp_path), quick=True)
    assert sum(jobs.normalised.size for jobs in found['hcbs']) > 50
    assert not any(jobs.missed for jobs in found['hcbs'])
    assert any(jobs.missed for jobs in found['fair-busy'])
    assert (tmp_path / 'kubedeadline6.svg').exists()


def test_a_script_that_fails_is_an_error():
    with pytest.raises(guest.GuestError, match='failed'):
        guest.run('false')
