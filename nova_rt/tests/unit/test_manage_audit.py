# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from nova_rt import drifts
from nova_rt.cmd import manage
from nova_rt.cmd import manage_audit

LACKS = drifts.Drift(drifts.Kind.KERNEL_LACKS, 'web', 'It lacks.', 'gives it')
STRANGE = drifts.Drift(drifts.Kind.KERNEL_STRANGER, '/x', 'It is strange.')


class Auditor:
    """Finds what it is told to, and heals unless it is told why not."""

    def __init__(self, drifts, why_not=''):
        self.drifts = drifts
        self.why_not = why_not

    def look_twice(self, pause_s):
        return self.drifts

    def heal(self, drift):
        return self.why_not


@pytest.fixture
def run(monkeypatch, capsys):
    def audited(auditor, *arguments):
        monkeypatch.setattr(manage_audit, '_auditor', lambda: auditor)
        monkeypatch.setattr('nova_rt.cmd.manage_base.read_nova_conf',
                            lambda *_: None)
        status = manage.main(['audit', '-f', 'json', *arguments])
        printed = capsys.readouterr()
        return status, json.loads(printed.out or 'null'), printed.err
    return audited


def test_where_all_say_the_same_nothing_is_printed_and_the_status_is_0(run):
    assert run(Auditor([]))[:2] == (0, [])


def test_a_drift_is_a_row_with_what_heal_would_do_and_the_status_is_1(run):
    status, (row,), _ = run(Auditor([LACKS]))
    assert status == 1
    assert row == {'kind': 'kernel-lacks', 'subject': 'web',
                   'sentence': 'It lacks.', 'repair': '--heal gives it'}


def test_what_is_healed_is_no_failure(run):
    status, (row,), _ = run(Auditor([LACKS]), '--heal')
    assert (status, row['repair']) == (0, 'done')


def test_what_could_not_be_healed_says_why_and_is_one(run):
    status, (row,), _ = run(Auditor([LACKS], 'EBUSY'), '--heal')
    assert (status, row['repair']) == (1, 'failed: EBUSY')


def test_what_only_an_operator_can_do_is_left_to_her(run):
    status, (row,), _ = run(Auditor([STRANGE]), '--heal')
    assert (status, row['repair']) == (1, '')


@pytest.mark.parametrize('pause', ['-1', 'soon', 'nan', '601'])
def test_a_senseless_pause_is_refused(run, capsys, pause):
    with pytest.raises(SystemExit):
        run(Auditor([]), f'--pause={pause}')
    assert 'give seconds from 0 to 600' in capsys.readouterr().err
