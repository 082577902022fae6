# SPDX-License-Identifier: Apache-2.0
import csv
import io

from nova_rt.cmd import plan
from nova_rt.tests.unit.plan.cases import PAPER


def test_csv_and_table_hold_the_same_as_json(capsys, gamma):
    assert plan.main(['analyse', gamma, *PAPER, '-f', 'csv']) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row['schedulable'] for row in rows] == ['yes', 'no']
    assert plan.main(['analyse', gamma, *PAPER]) == 0
    table = capsys.readouterr().out
    assert 'Not schedulable' in table
    assert '397142' in table


def test_rows_of_different_columns_share_a_table(capsys, tmp_path):
    path = tmp_path / 'chain.csv'
    path.write_text('name,arrival_rate,processing_us\n'
                    'often,50,500\nrare,0.0001,500\n')
    for style in ('table', 'csv'):
        assert plan.main(['size', '--chain', str(path), '--deadline-us',
                          '20000', '-f', style]) == 0
        shown = capsys.readouterr().out
        assert 'not simulated' in shown
        assert 'simulated_mean_us' in shown
