# SPDX-License-Identifier: Apache-2.0
"""A task set in a virtual machine, on this machine's own kernel.

It runs with the stage that has this machine's pCPUs for itself, not beside others.
"""

import os

import pytest

from experiments import guest
from experiments import machines
from experiments import machines_pictures
from experiments import output
from nova_rt.testing import full

REASON = (full.REASON if not full.WANTED
          else 'needs root' if os.geteuid() else guest.missing())
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or 'none')


def test_a_set_in_a_guest_does_what_its_analysis_says(tmp_path):
    folder = output.Folder(tmp_path)
    try:
        outcomes = machines.run(folder, quick=True)
    except guest.GuestError as exc:
        if 'too busy' in str(exc):
            pytest.skip(str(exc))
        raise
    machines_pictures.draw(folder, outcomes)
    by_level = {each.load.held: each for each in outcomes if not each.void}
    if set(by_level) != set(machines.LEVELS):
        pytest.skip('this machine did not give a reservation that it had promised')
    analysed, third = by_level['analysed'], by_level['third']
    assert analysed.predicted == 'none' != third.predicted
    assert not analysed.jobs.missed
    assert analysed.to_bound <= 1
    assert third.jobs.missed >= third.certain
    assert len((tmp_path / f'{machines.name()}.csv').read_text().splitlines()) == 1 + len(outcomes)
    assert (tmp_path / f'{machines.name()}.svg').exists()
