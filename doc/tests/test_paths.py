# SPDX-License-Identifier: Apache-2.0
"""Every file of the repository that the documentation names exists."""

import re

import pytest

from nova_rt.testing import documentation

ROOT = documentation.ROOT
# What make writes, and folders of a stack's run directory.
NOT_IN_THE_REPOSITORY = {
    'bench/kernel.svg', 'bench/results.json', 'doc/build/html', 'run/demo',
    'etc/heat', 'etc/neutron', 'etc/tacker'}


def paths(page):
    """Return what looks like a path from the top of the repository."""
    literals = re.findall(r'``(\w[\w.*/-]*/[\w.*/-]*)``', (ROOT / page).read_text())
    return {literal.rstrip('/') for literal in literals
            if (ROOT / literal.split('/')[0]).is_dir()} - NOT_IN_THE_REPOSITORY


@pytest.mark.parametrize('page', filter(paths, documentation.pages()))
def test_a_file_that_a_page_names_exists(page):
    assert [path for path in paths(page)
            if not any(ROOT.glob(path.replace('NOUN', '*')))] == []
