# SPDX-License-Identifier: Apache-2.0
"""What of ``make test-devstack`` needs no machine of its own."""

import pathlib
import subprocess
import sys

import pytest

REAL = pathlib.Path(__file__).parents[1] / 'real'
EDIT = REAL / 'requirements'
CONSTRAINTS = 'nova==34.0.0\nnova-rt==1\nglance_store==5.7.0\nSix==1.17.0\n'


@pytest.mark.parametrize(('name', 'gone'), [
    ('nova', 'nova==34.0.0'), ('glance-store', 'glance_store==5.7.0'), ('six', 'Six==1.17.0')])
def test_a_package_that_is_installed_from_its_source_is_not_constrained(tmp_path, name, gone):
    file = tmp_path / 'upper-constraints.txt'
    file.write_text(CONSTRAINTS)
    subprocess.run((sys.executable, '-c', 'import edit_constraints as e; e.main()', file,
                    '--', name), check=True, cwd=EDIT)
    assert file.read_text() == CONSTRAINTS.replace(f'{gone}\n', '')
