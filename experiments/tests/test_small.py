# SPDX-License-Identifier: Apache-2.0
"""Experiments as small as can be, on our kernel."""

import pytest

from experiments import guest
from experiments import output
from experiments import queueing
from experiments import queueing_pictures
from experiments import tasksets
from experiments import tasksets_pictures

MISSING = guest.missing()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING or 'none')


def test_response_times_are_those_of_the_exact_simulator(tmp_path):
    folder = output.Folder(tmp_path)
    ((point,),) = rows = queueing.run(folder, quick=True)
    queueing_pictures.draw(folder, rows)
    assert point.measured.min() > 0
    assert point.measured.mean() == pytest.approx(
        point.costed.mean() + queueing.DELAY_US, rel=0.03)
    assert (tmp_path / 'figure6.svg').exists()
    assert len((tmp_path / 'queueing.csv').read_text().splitlines()) == 2


def test_no_set_misses_a_deadline_but_under_the_fair_scheduler(tmp_path):
    folder = output.Folder(tmp_path)
    outcome = tasksets.run(folder, quick=True)
    tasksets_pictures.draw(folder, outcome)
    by_mode = outcome.by_mode
    assert sum(jobs.normalised.size for jobs in by_mode['hcbs']) > 50
    assert not any(jobs.missed for jobs in by_mode['hcbs'])
    assert any(jobs.missed for jobs in by_mode['fair-busy'])
    assert (tmp_path / 'kubedeadline6.svg').exists()


def test_a_script_that_fails_is_an_error():
    with pytest.raises(guest.GuestError, match='failed'):
        guest.run('false')
