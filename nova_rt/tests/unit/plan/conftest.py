# SPDX-License-Identifier: Apache-2.0
"""What the tests of several commands of nova-rt-plan need."""

import json

import pytest

from nova_rt.cmd import plan
from nova_rt.tests.unit.model import examples


@pytest.fixture
def ask(capsys):
    def rows(*arguments):
        assert plan.main([*arguments, '-f', 'json']) == 0
        return json.loads(capsys.readouterr().out)
    return rows


@pytest.fixture
def gamma(tmp_path):
    path = tmp_path / 'gamma.csv'
    path.write_text('wcet_ms, period_ms\n' + '\n'.join(
        f'{wcet}, {period}' for wcet, period in examples.GAMMA_MS))
    return str(path)
